import type { Options } from 'pusher-js';
import { eventually } from '../../../testing/eventually.ts';
import type { Random } from '../../../testing/random.ts';
import { startAppBackend } from '../../../testing/servers/app-backend.ts';
import { Listener } from './listener.ts';
import { Publisher } from './publisher.ts';

/** One channel of each kind. */
const CHANNELS = ['news', 'private-orders', 'presence-room', 'private-encrypted-diary'];

/** Events that a client may be behind before more are sent. */
const MISSED_MAX = 200;

export interface TrialOptions {
  /** Of the server. */
  readonly port: number;
  /** What is between it and the clients. */
  readonly network: { readonly port: number; isCalm: boolean };
  readonly random: Random;
  readonly clients: number;
  /** Ends when the clients together have received this many events. */
  readonly deliveries: number;
  readonly transports?: Options['enabledTransports'];
  /** Called before each request with the number of deliveries so far. */
  readonly meanwhile?: (deliveries: number) => Promise<void>;
}

export interface TrialResult {
  readonly deliveries: number;
  /** Events that a client has lost, got twice, in a wrong order or although they were its own. */
  readonly faults: readonly string[];
  readonly gaps: number;
  readonly reconnects: number;
  readonly uncertain: number;
}

/** Sends events to clients on a bad network, until they have received enough; then everything that was sent must have arrived. */
export async function trial({ network, random, ...options }: TrialOptions): Promise<TrialResult> {
  using parts = new DisposableStack();
  const backend = parts.use(startAppBackend(options));
  const listeners = Array.from({ length: options.clients }, (_, n) =>
    parts.use(
      new Listener({
        port: network.port,
        backend,
        user: `user-${n}`,
        channels: CHANNELS,
        transports: options.transports ?? ['ws'],
      }),
    ),
  );
  const publisher = new Publisher({
    backend,
    random,
    channels: CHANNELS,
    someSocket: () => random.pick(listeners).socket(),
  });
  const received = () => listeners.reduce((sum, { count }) => sum + count, 0);
  const missedBy = (listener: Listener, name: string) =>
    (publisher.sent.get(name)?.length ?? 0) - 1 - listener.last(name);
  const mostMissed = () =>
    Math.max(...listeners.flatMap((one) => CHANNELS.map((name) => missedBy(one, name))));
  await eventually(
    () => listeners.filter(({ isIn }) => !isIn).length,
    (missing) => missing === 0,
  );
  network.isCalm = false;
  for (const { pusher } of listeners) pusher.disconnect();
  for (const { pusher } of listeners) pusher.connect();
  while (received() < options.deliveries) {
    await options.meanwhile?.(received());
    // A connection that breaks after some kilobytes must be enough for what was missed.
    await eventually(mostMissed, (missed) => missed < MISSED_MAX);
    await publisher.sendSome();
  }
  network.isCalm = true;
  await publisher.sendToAll();
  await eventually(mostMissed, (missed) => missed === 0);
  return {
    deliveries: received(),
    faults: listeners.flatMap((listener, n) =>
      CHANNELS.flatMap((name) =>
        listener.faults(name, publisher.sent.get(name) ?? []).map((fault) => `user-${n}: ${fault}`),
      ),
    ),
    gaps: listeners.reduce((sum, { gaps }) => sum + gaps, 0),
    reconnects: listeners.reduce((sum, { socketIds }) => sum + socketIds.size - 1, 0),
    uncertain: publisher.uncertain,
  };
}
