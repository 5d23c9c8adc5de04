import { expect } from 'bun:test';
import type { Closed, Heard, RawClient } from '../../../testing/clients/raw-client.ts';
import { eventually } from '../../../testing/eventually.ts';
import {
  type AppClient,
  type AppLocation,
  appAt,
  type TestApp,
} from '../../../testing/servers/test-app.ts';

/** What the tests of one rule after another say and expect, in the words of `spec/channels-protocol.md`. */

/** The versions of the protocol that official clients speak. Source: §1.1. */
export const PROTOCOLS = [5, 6, 7] as const;

/** Milliseconds for a test that waits until the server takes the initiative. */
export const LONG_MS = 20_000;

/** A client, and the app that signs for it. */
export type Client = AppClient & { readonly app: TestApp };

let channelsNamed = 0;

/** A channel name that no other test uses, so that tests can share a server. */
export function fresh(prefix = ''): string {
  channelsNamed++;
  return `${prefix}channel-${channelsNamed}`;
}

/** The in-band error, and the one before a close. Source: §4. */
export function error(message: string, code: number | null = null): Heard {
  return { event: 'pusher:error', data: { code, message } };
}

/** The confirmation of a subscription that is not one to a presence channel. Source: §5.3. */
export function confirmation(channel: string): Heard {
  return { event: 'pusher_internal:subscription_succeeded', channel, data: '{}' };
}

export function cacheMiss(channel: string): Heard {
  return { event: 'pusher:cache_miss', channel, data: '{}' };
}

/** Presence, as `channel_data` has it. */
export function channelData(userId: string | number, userInfo?: object): string {
  return JSON.stringify({ user_id: userId, user_info: userInfo });
}

/** Says that it subscribes, with what its backend signed where the channel needs it. */
export function subscribe(client: Client, channel: string, data?: string): void {
  const signed = /^(private|presence)-/.test(channel) ? client.app.auth(client, channel, data) : {};
  client.says({ event: 'pusher:subscribe', data: { channel, ...signed } });
}

export function unsubscribe(client: RawClient, channel: string): void {
  client.says({ event: 'pusher:unsubscribe', data: { channel } });
}

/** Subscribes and hears the confirmation. */
export async function join(client: Client, channel: string, data?: string): Promise<Heard> {
  subscribe(client, channel, data);
  const heard = await client.hears();
  expect(heard).toMatchObject({ event: 'pusher_internal:subscription_succeeded', channel });
  return heard;
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

/** Hears that a subscription was refused: once as the hosted service says it, once for the channel. Source: §5.3. */
export async function hearsRefusal(
  client: RawClient,
  channel: string,
  message: string,
  { type, status } = { type: 'AuthError', status: 401 },
): Promise<void> {
  expect(await client.hears()).toEqual(error(message));
  const { data, ...rest } = await client.hears();
  expect(rest).toEqual({ event: 'pusher:subscription_error', channel });
  expect(data).toBeString();
  expect(JSON.parse(String(data))).toEqual({ type, error: message, status });
}

export const LIMIT_REACHED = { type: 'LimitReached', status: 4100 };

/** Hears the error event and then the close, both with the same code and words. Source: §1.1. */
export async function hearsEnd(client: RawClient, code: number, message?: string): Promise<Closed> {
  const heard = await client.hears();
  const text = message ?? Object(heard.data).message;
  expect(text).toBeString();
  expect(heard).toEqual(error(text, code));
  const closed = await client.closed;
  // A close frame has room for 123 bytes of reason. Source: RFC 6455, 5.5.
  expect(closed).toEqual({ code, reason: text.slice(0, 123) });
  return closed;
}

/** Ends a connection as RFC 6455 has it. The server has forgotten it when this settles. */
export async function leaves(client: RawClient): Promise<void> {
  client.writeBytes(CLOSE_1000);
  expect(await client.closed).toEqual({ code: 1000, reason: '' });
}

/** Masked, with a mask of zeros. */
const CLOSE_1000 = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]);

/** The occupied channels of an app. */
export async function channels(at: AppLocation): Promise<Record<string, object>> {
  const response = await appAt(at).api('GET', '/channels');
  expect(response.status).toBe(200);
  return Object((await response.json()) as unknown).channels;
}

/** Settles when an app has no occupied channel any more. */
export async function allChannelsVacated(at: AppLocation): Promise<void> {
  await eventually(
    async () => Object.keys(await channels(at)),
    ({ length }) => length === 0,
  );
}
