/** The parameters of a postgres:// address that name files of TLS, as in libpq. */
export const TLS_PARAMETERS = ['sslrootcert', 'sslcert', 'sslkey'] as const;

export type TlsParameter = (typeof TLS_PARAMETERS)[number];

/** The value of a parameter of a postgres:// address; `undefined` if it has none. */
export function parameterOf(url: string, name: TlsParameter | 'sslmode'): string | undefined {
  return URL.parse(url)?.searchParams.get(name) || undefined;
}

/** The address without the files of TLS. Its other parameters stay as they are written. */
export function withoutTlsFiles(url: string): string {
  const mark = url.indexOf('?');
  if (mark === -1) return url;
  const isFile = (part: string) => TLS_PARAMETERS.some((name) => part.startsWith(`${name}=`));
  const others = url
    .slice(mark + 1)
    .split('&')
    .filter((part) => !isFile(part));
  return others.length === 0 ? url.slice(0, mark) : `${url.slice(0, mark)}?${others.join('&')}`;
}
