/** Throws if the text is not UTF-8. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads the body of a send: a JSON array of strings, one message each. `undefined`: it is something else. */
export function readMessages(body: Uint8Array): readonly string[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(body));
  } catch {
    // Malformed input is normal; the caller answers it.
    return undefined;
  }
  if (!Array.isArray(value)) return undefined;
  const messages: readonly unknown[] = value;
  return messages.every((message) => typeof message === 'string') ? messages : undefined;
}
