/**
 * Says why a text cannot be stored; `undefined`: it can. A lone surrogate has no UTF-8 encoding and would come back as
 * another text; PostgreSQL does not accept U+0000.
 */
export function whyNotStorable(text: string): string | undefined {
  if (!text.isWellFormed()) return 'is not well-formed Unicode';
  return text.includes('\u0000') ? 'has the character U+0000' : undefined;
}
