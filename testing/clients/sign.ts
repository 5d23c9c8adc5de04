import { createHash, createHmac } from 'node:crypto';
import { APP, type Fanfare } from '../servers/fanfare.ts';

/** Signs as the server libraries do; written apart from the server's own code. */

export function hmac(text: string, secret: string = APP.secret): string {
  return createHmac('sha256', secret).update(text).digest('hex');
}

/** What an app's backend answers for a private or presence channel. */
export function channelAuth(
  socketId: string,
  channel: string,
  channelData?: string,
  app: { readonly key: string; readonly secret: string } = APP,
): { auth: string; channel_data?: string } {
  const text = [socketId, channel, ...(channelData === undefined ? [] : [channelData])].join(':');
  return {
    auth: `${app.key}:${hmac(text, app.secret)}`,
    ...(channelData === undefined ? {} : { channel_data: channelData }),
  };
}

export interface ApiCall {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly key?: string;
  readonly secret?: string;
  /** Over what is sent, after signing. */
  readonly tamper?: (parameters: Map<string, string>) => void;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The signed path and query of one request. */
export function signedTarget(method: string, path: string, call: ApiCall = {}): string {
  const parameters = new Map(Object.entries(call.query ?? {}));
  parameters.set('auth_key', call.key ?? APP.key);
  parameters.set('auth_timestamp', String(Math.floor(Date.now() / 1000)));
  parameters.set('auth_version', '1.0');
  if (call.body !== undefined && call.body.length > 0) {
    parameters.set('body_md5', createHash('md5').update(call.body).digest('hex'));
  }
  const text = [...parameters].sort(([a], [b]) => (a < b ? -1 : 1)).map((pair) => pair.join('='));
  parameters.set('auth_signature', hmac(`${method}\n${path}\n${text.join('&')}`, call.secret));
  call.tamper?.(parameters);
  const query = [...parameters].map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  );
  return `${path}?${query.join('&')}`;
}

/** Sends one signed request. */
export async function api(
  server: Pick<Fanfare, 'port'>,
  method: 'GET' | 'POST',
  path: string,
  call: ApiCall = {},
): Promise<Response> {
  return await fetch(`http://127.0.0.1:${server.port}${signedTarget(method, path, call)}`, {
    method,
    headers: { 'content-type': 'application/json', ...call.headers },
    ...(call.body === undefined ? {} : { body: call.body }),
  });
}

/** Triggers one event and fails unless it was accepted. */
export async function trigger(server: Pick<Fanfare, 'port'>, event: object): Promise<string> {
  const response = await api(server, 'POST', `/apps/${APP.id}/events`, {
    body: JSON.stringify(event),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  return text;
}
