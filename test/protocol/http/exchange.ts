import type { ApiCall } from '../../../testing/clients/sign.ts';
import { type AppClient, type AppLocation, appAt } from '../../../testing/servers/test-app.ts';

/** An answer as a backend sees it. */
export interface Answered {
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
}

export const JSON_TYPE = 'application/json';
export const TEXT_TYPE = 'text/plain; charset=utf-8';

/** The exact answer to most triggers. */
export const EMPTY: Answered = { status: 200, type: JSON_TYPE, text: '{}' };

export function json(text: string): Answered {
  return { status: 200, type: JSON_TYPE, text };
}

export function refused(status: number, text: string): Answered {
  return { status, type: TEXT_TYPE, text };
}

export async function seen(response: Response): Promise<Answered> {
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    text: await response.text(),
  };
}

/** `GET` of a path below that of the app. */
export async function gets(
  at: AppLocation,
  path: string,
  query: Readonly<Record<string, string>> = {},
): Promise<Answered> {
  return await seen(await appAt(at).api('GET', path, { query }));
}

/** `POST` to a path below that of the app: a JSON value, or the bytes of a body. */
export async function posts(
  at: AppLocation,
  path: string,
  body: object | string | Uint8Array,
  call: ApiCall = {},
): Promise<Answered> {
  const bytes =
    typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  return await seen(await appAt(at).api('POST', path, { ...call, body: bytes }));
}

/** `POST /events`. */
export async function triggers(
  at: AppLocation,
  event: object | string | Uint8Array,
  call: ApiCall = {},
): Promise<Answered> {
  return await posts(at, '/events', event, call);
}

/** `POST /batch_events`. */
export async function batches(at: AppLocation, batch: unknown): Promise<Answered> {
  return await posts(at, '/batch_events', { batch });
}

/** A client that is subscribed to these channels, of any kind. */
export async function subscriber(
  at: AppLocation,
  ...channels: readonly string[]
): Promise<AppClient> {
  const app = appAt(at);
  const client = await app.connect();
  for (const channel of channels) {
    await client.subscribe(
      channel,
      channel.startsWith('private-') ? app.auth(client, channel) : undefined,
    );
    // A cache miss: each cache channel is used by one test only.
    if (/^(private-|private-encrypted-)?cache-/.test(channel)) await client.receive();
  }
  return client;
}

/** A client that is in a presence channel as this user. The other members get an event. */
export async function member(
  at: AppLocation,
  channel: string,
  userId: string,
  userInfo?: string,
): Promise<AppClient> {
  const app = appAt(at);
  const client = await app.connect();
  const info = userInfo === undefined ? '' : `,"user_info":${userInfo}`;
  const data = `{"user_id":${JSON.stringify(userId)}${info}}`;
  await client.subscribe(channel, app.auth(client, channel, data));
  return client;
}
