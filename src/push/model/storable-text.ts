/**
 * Says why a text cannot be kept, or `undefined` where it can. A lone half of a surrogate pair has no UTF-8, so
 * it would come back as another text; PostgreSQL cannot keep U+0000 at all.
 */
export function whyNotStorable(text: string): string | undefined {
  if (!text.isWellFormed()) return 'is not well-formed Unicode';
  return text.includes('\u0000') ? 'has the character U+0000' : undefined;
}
