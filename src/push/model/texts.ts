/** What a notification says in one language. At least one of the two is present. */
export interface Text {
  readonly title: string | undefined;
  readonly body: string | undefined;
}

/** The texts of a publish, by language tags in canonical form. */
export type Texts = ReadonlyMap<string, Text>;

/**
 * Finds the language of a publish for that of a device: the same, or else a shorter one, such as `de` for `de-AT`.
 * Source: RFC 4647, 3.4.
 */
export function findLanguage(
  languages: { has(language: string): boolean },
  wanted: string | undefined,
): string | undefined {
  const subtags = wanted?.split('-') ?? [];
  while (subtags.length > 0) {
    const language = subtags.join('-');
    if (languages.has(language)) return language;
    subtags.pop();
    // A single letter only says what the subtag after it means.
    if (subtags.at(-1)?.length === 1) subtags.pop();
  }
  return undefined;
}
