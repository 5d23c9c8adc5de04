import { join } from 'node:path';
import type { Options } from 'pusher-js';
import { APP } from '../../testing/servers/fanfare.ts';
import { JsonProcess } from './json-process.ts';

/** Something that pusher-js heard; `connection` stands in place of the channel for a change of its state. */
export type Heard = readonly [channel: string, event: string, data?: unknown];

/** The official client in real Node, subscribed to some channels. Stays until it is disposed of. */
export function clientInNode(
  options: Options,
  channels: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): JsonProcess<Heard> {
  const script = join(import.meta.dir, 'client-process.mjs');
  return new JsonProcess('node', script, { key: APP.key, options, channels }, environment);
}

/** The same, signed in as a user; what it hears of that is said for the channels `user` and `watchlist`. */
export function userInNode(options: Options, channels: readonly string[] = []): JsonProcess<Heard> {
  const script = join(import.meta.dir, 'client-process.mjs');
  return new JsonProcess('node', script, { key: APP.key, options, channels, signin: true });
}

/** Settles when all these channels have been confirmed. */
export async function subscribed(
  client: JsonProcess<Heard>,
  channels: readonly string[],
): Promise<void> {
  const missing = new Set(channels);
  while (missing.size > 0) {
    const [channel, event] = await client.printed.next();
    if (event === 'pusher:subscription_succeeded') missing.delete(channel);
  }
}
