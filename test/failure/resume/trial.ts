import type { Options } from 'pusher-js';
import { ruleNames } from '../../../src/verify/check/verdict.ts';
import { eventually } from '../../../testing/eventually.ts';
import type { Random } from '../../../testing/random.ts';
import { startAppBackend } from '../../../testing/servers/app-backend.ts';
import { TestHistory } from '../../../testing/verify/test-history.ts';
import { Listener } from './listener.ts';
import { Publisher } from './publisher.ts';

/** One channel of each kind. */
const CHANNELS = ['news', 'private-orders', 'presence-room', 'private-encrypted-diary'];

const TRIED = ruleNames.slice(0, ruleNames.indexOf('present') + 1);

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
  /** What was not as promised. */
  readonly problems: readonly string[];
  readonly gaps: number;
  readonly reconnects: number;
  readonly uncertain: number;
}

/** Sends events to clients on a bad network, until they have received enough; then everything that was sent must have arrived. */
export async function trial({ network, random, ...options }: TrialOptions): Promise<TrialResult> {
  using parts = new DisposableStack();
  const history = parts.use(new TestHistory({ kept: ['*'] }));
  const backend = parts.use(startAppBackend(options));
  const listeners = Array.from({ length: options.clients }, (_, n) =>
    parts.use(
      new Listener({
        history,
        number: n + 1,
        port: network.port,
        backend,
        channels: CHANNELS,
        transports: options.transports ?? ['ws'],
      }),
    ),
  );
  const publisher = new Publisher({
    history,
    backend,
    random,
    channels: CHANNELS,
    someSocket: () => random.pick(listeners).socketId,
  });
  const received = () => listeners.reduce((sum, { count }) => sum + count, 0);
  const mostMissed = () =>
    Math.max(
      ...listeners.flatMap((one) => CHANNELS.map((name) => publisher.after(name, one.last(name)))),
    );
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
  await history.compare();
  return {
    deliveries: received(),
    problems: history.problems(...TRIED),
    gaps: listeners.reduce((sum, { gaps }) => sum + gaps, 0),
    reconnects: listeners.reduce((sum, { noted }) => sum + noted.connections - 1, 0),
    uncertain: publisher.uncertain,
  };
}
