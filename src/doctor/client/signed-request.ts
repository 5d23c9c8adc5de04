import { createHash, createHmac } from 'node:crypto';

/** What a backend signs with. */
export interface Credentials {
  readonly appId: string;
  readonly key: string;
  readonly secret: string;
}

export interface SignedCall {
  readonly method: 'GET' | 'POST';
  /** From `/apps` on, without the prefix that the server is mounted under. */
  readonly path: string;
  /** Names and values of further parameters. */
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: string;
}

function hmac(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('hex');
}

/** What a subscription to a private channel is authorised with. Source: Channels protocol, §5.5. */
export function channelAuth(
  key: string,
  secret: string,
  socketId: string,
  channel: string,
): string {
  return `${key}:${hmac(secret, `${socketId}:${channel}`)}`;
}

/** Path and query of a signed request; the path is signed as it is sent. Source: Channels protocol, §14.1. */
export function signedTarget(
  { key, secret }: Pick<Credentials, 'key' | 'secret'>,
  { method, path, query: given = {}, body }: SignedCall,
  prefix: string,
  nowMs: number,
): string {
  const sent = `${prefix}${path}`;
  const parameters = [
    ...Object.entries(given),
    ['auth_key', key],
    ['auth_timestamp', String(Math.floor(nowMs / 1000))],
    ['auth_version', '1.0'],
    ...(body === undefined ? [] : [['body_md5', createHash('md5').update(body).digest('hex')]]),
  ];
  // In the order of their names, as they must be signed.
  parameters.sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
  const text = parameters.map((pair) => pair.join('=')).join('&');
  const query = parameters
    .map(([name = '', value = '']) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
  return `${sent}?${query}&auth_signature=${hmac(secret, `${method}\n${sent}\n${text}`)}`;
}
