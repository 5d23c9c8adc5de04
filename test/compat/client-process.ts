import { join } from 'node:path';
import type { Options } from 'pusher-js';
import { APP } from '../../testing/servers/fanfare.ts';
import { JsonProcess } from './json-process.ts';

/** An event that pusher-js received. For a change of the connection's state, the channel is `connection`. */
export type ReceivedEvent = readonly [channel: string, event: string, data?: unknown];

/** Runs the official client in Node, subscribed to some channels, until it is disposed of. */
export function clientInNode(
  options: Options,
  channels: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): JsonProcess<ReceivedEvent> {
  const script = join(import.meta.dir, 'client-process.mjs');
  return new JsonProcess('node', script, { key: APP.key, options, channels }, environment);
}

/** The same, signed in as a user. Events of the user have the channel `user`, those of the watchlist `watchlist`. */
export function userInNode(
  options: Options,
  channels: readonly string[] = [],
): JsonProcess<ReceivedEvent> {
  const script = join(import.meta.dir, 'client-process.mjs');
  return new JsonProcess('node', script, { key: APP.key, options, channels, signin: true });
}

/** Settles when all these subscriptions are confirmed. */
export async function subscribed(
  client: JsonProcess<ReceivedEvent>,
  channels: readonly string[],
): Promise<void> {
  const missing = new Set(channels);
  while (missing.size > 0) {
    const [channel, event] = await client.printed.next();
    if (event === 'pusher:subscription_succeeded') missing.delete(channel);
  }
}
