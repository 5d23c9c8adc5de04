/** The limit of characters of an error text that are examined. */
const TEXT_MAX = 1_000;

/**
 * Removes signatures from an error text, for the log and for people who watch an app. A signature that is wrong in
 * one place may be valid elsewhere.
 */
export function unsigned(text: string): string {
  const at = text.search(/, but (?:got|you sent) /);
  const before = at === -1 ? text : text.slice(0, at);
  return before.slice(0, TEXT_MAX).replace(/[\da-f]{64}/gi, '(signature)');
}
