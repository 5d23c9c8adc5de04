import { expect } from 'bun:test';
import type { Closed } from '../../../testing/clients/closed.ts';
import type { RawClient, ReceivedEvent } from '../../../testing/clients/raw-client.ts';
import { eventually } from '../../../testing/eventually.ts';
import {
  type AppClient,
  type AppLocation,
  appAt,
  type TestApp,
} from '../../../testing/servers/test-app.ts';

/** What the tests send and expect. Sections are those of the Channels protocol. */

/** The versions of the protocol that official clients use. Source: §1.1. */
export const PROTOCOLS = [5, 6, 7] as const;

/** Milliseconds for a test that waits for something the server does by itself. */
export const LONG_MS = 60_000;

/** A client, and the app that signs for it. */
export type Client = AppClient & { readonly app: TestApp };

let channelsNamed = 0;

/** A channel name that no other test uses, so that tests can share a server. */
export function fresh(prefix = ''): string {
  channelsNamed++;
  return `${prefix}channel-${channelsNamed}`;
}

/** The in-band error, and the one before a close. Source: §4. */
export function error(message: string, code: number | null = null): ReceivedEvent {
  return { event: 'pusher:error', data: { code, message } };
}

/** The confirmation of a subscription, except to a presence channel. Source: §5.3. */
export function confirmation(channel: string): ReceivedEvent {
  return { event: 'pusher_internal:subscription_succeeded', channel, data: '{}' };
}

export function cacheMiss(channel: string): ReceivedEvent {
  return { event: 'pusher:cache_miss', channel, data: '{}' };
}

/** The `channel_data` of a member. */
export function channelData(userId: string | number, userInfo?: object): string {
  return JSON.stringify({ user_id: userId, user_info: userInfo });
}

/** Sends a subscription, signed by its backend if the channel needs that. */
export function subscribe(client: Client, channel: string, data?: string): void {
  const signed = /^(private|presence)-/.test(channel) ? client.app.auth(client, channel, data) : {};
  client.send({ event: 'pusher:subscribe', data: { channel, ...signed } });
}

export function unsubscribe(client: RawClient, channel: string): void {
  client.send({ event: 'pusher:unsubscribe', data: { channel } });
}

/** Subscribes and waits for the confirmation. */
export async function join(client: Client, channel: string, data?: string): Promise<ReceivedEvent> {
  subscribe(client, channel, data);
  const received = await client.receive();
  expect(received).toMatchObject({ event: 'pusher_internal:subscription_succeeded', channel });
  return received;
}

/** A new connection that is in a channel. */
export async function member(
  at: AppLocation,
  channel: string,
  data?: string,
  protocol?: number,
): Promise<Client> {
  const client = await connect(at, protocol);
  await join(client, channel, data);
  return client;
}

export async function connect(at: AppLocation, protocol = 7): Promise<Client> {
  const app = appAt(at);
  return Object.assign(await app.connect({ protocol }), { app });
}

/** Expects the two events of a refused subscription: `pusher:error`, and one for the channel. Source: §5.3. */
export async function hearsRefusal(
  client: RawClient,
  channel: string,
  message: string,
  { type, status } = { type: 'AuthError', status: 401 },
): Promise<void> {
  expect(await client.receive()).toEqual(error(message));
  const { data, ...rest } = await client.receive();
  expect(rest).toEqual({ event: 'pusher:subscription_error', channel });
  expect(data).toBeString();
  expect(JSON.parse(String(data))).toEqual({ type, error: message, status });
}

export const LIMIT_REACHED = { type: 'LimitReached', status: 4100 };

/** Expects the error event and then the close, both with the same code and text. Source: §1.1. */
export async function hearsEnd(client: RawClient, code: number, message?: string): Promise<Closed> {
  const received = await client.receive();
  const text = message ?? Object(received.data).message;
  expect(text).toBeString();
  expect(received).toEqual(error(text, code));
  const closed = await client.closed;
  // A close frame has room for 123 bytes of reason. Source: RFC 6455, 5.5.
  expect(closed).toEqual({ code, reason: text.slice(0, 123) });
  return closed;
}

/** Closes a connection as a client does. The server has removed it when this settles. */
export async function leave(client: RawClient): Promise<void> {
  expect(await client.leave()).toEqual({ code: 1000, reason: '' });
  await client.serverSettled();
}

/** The occupied channels of an app. */
export async function channels(at: AppLocation): Promise<Record<string, object>> {
  const response = await appAt(at).api('GET', '/channels');
  expect(response.status).toBe(200);
  return Object((await response.json()) as unknown).channels;
}

/** Settles when an app no longer has an occupied channel. */
export async function allChannelsVacated(at: AppLocation): Promise<void> {
  await eventually(
    async () => Object.keys(await channels(at)),
    ({ length }) => length === 0,
  );
}
