/** The setting for no proxy, whatever the environment says. */
export const NO_PROXY_AT_ALL = 'none';

/** The address of an HTTP proxy for outgoing requests. */
export interface ProxyAddress {
  /** A name or an IP address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** The value of `Proxy-Authorization`; `undefined`: none is sent. A secret. */
  readonly authorization: string | undefined;
}

const PORT_DEFAULT = 80;

/** Reads `http://[USER:PASSWORD@]HOST:PORT`; `undefined` if the text is something else or can be read in two ways. */
export function parseProxy(text: string): ProxyAddress | undefined {
  const url = URL.parse(text);
  if (url?.protocol !== 'http:') return undefined;
  // A password with a slash that is not percent-encoded would end the host.
  if (url.pathname !== '/' || /[?#]/.test(text)) return undefined;
  const authorization = basicAuthorization(url);
  if (authorization === undefined) return undefined;
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || PORT_DEFAULT,
    authorization: authorization === '' ? undefined : authorization,
  };
}

/** The user and password of a URL as a header; empty if it has none, `undefined` if they are badly encoded. */
function basicAuthorization({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return '';
  try {
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return `Basic ${Buffer.from(pair).toString('base64')}`;
  } catch {
    return undefined;
  }
}

/** A host and a port as they stand in a URL. IPv6 addresses get brackets. */
export function hostAndPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
