/** What a user and a password in an address must not contain as it is. */
export const ENCODING_RULE =
  'in a user or a password, characters such as / ? # @ : % must be percent-encoded (%2F %3F %23 %40 %3A %25)';

/**
 * Whether a postgres:// address can be read in one way only. With a password such as `p@ss/word` that is not
 * percent-encoded, the host would be `ss`.
 */
export function isReadableAddress(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.hash !== '' || url.pathname.includes('@')) return false;
  // A value of a parameter may be an address of mail.
  const isReadable = (part: string) => /^[^@]*$|^[^@=]+=[^/]*$/.test(part);
  if (!url.search.slice(1).split('&').every(isReadable)) return false;
  try {
    decodeURIComponent(url.username + url.password);
    return true;
  } catch {
    return false;
  }
}
