const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Reads an id made of a prefix and a UUID. Returns it with the UUID in lower case. The prefix is case-sensitive. */
export function readPrefixedUuid(prefix: string, text: string): string | undefined {
  if (!text.startsWith(prefix)) return undefined;
  const uuid = text.slice(prefix.length).toLowerCase();
  return UUID.test(uuid) ? prefix + uuid : undefined;
}
