/** Words of header names that are written in capitals. Sources: RFC 8030; Microsoft, "WNS headers"; Beams docs, "Webhooks". */
const CAPITALS: ReadonlySet<string> = new Set(['id', 'ttl', 'uuid', 'wns']);

/**
 * Writes the names of header fields as their documentation does: `X-Pusher-Key`, `Webhook-ID-UUID`, `TTL`. HTTP does not
 * distinguish case, but programs that receive HTTP/1.1 do: `getallheaders()` of PHP keeps what was sent.
 */
export function asDocumented(
  headers: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [documentedName(name), value]),
  );
}

function documentedName(name: string): string {
  return name.split('-').map(documentedWord).join('-');
}

function documentedWord(word: string): string {
  const lower = word.toLowerCase();
  return CAPITALS.has(lower) ? lower.toUpperCase() : lower.replace(/^./, (c) => c.toUpperCase());
}
