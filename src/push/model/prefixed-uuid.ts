const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Reads an id made of a prefix and a UUID, and gives it in lower case, in which two ids are compared. The prefix
 * itself is compared as it is.
 */
export function readPrefixedUuid(prefix: string, text: string): string | undefined {
  if (!text.startsWith(prefix)) return undefined;
  // `i` in the pattern would do as well, but the lower case is needed anyway.
  const uuid = text.slice(prefix.length).toLowerCase();
  return UUID.test(uuid) ? prefix + uuid : undefined;
}
