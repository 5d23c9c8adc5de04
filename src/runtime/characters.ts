/**
 * Counts the characters of a text as most libraries do: Unicode code points. An emoji is one, although it takes two
 * units of UTF-16.
 */
export function charactersOf(text: string): number {
  let characters = 0;
  for (const _ of text) characters++;
  return characters;
}

/** Whether a text has more characters than a limit. Looks at no more of it than twice the limit. */
export function hasMoreCharacters(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  return text.length > 2 * limit || charactersOf(text) > limit;
}
