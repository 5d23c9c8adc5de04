/** A busy app, in a process of its own. Its parent calls it over IPC. */
import type { AppAddress } from '../../bench-app.ts';
import { BenchClient, type ClientOwner } from '../../connections/client.ts';
import { publicSubscriptions } from '../../connections/subscriptions.ts';
import { churn } from '../../connections/tasks.ts';
import { eventData } from '../../load/bench-event.ts';
import { KernelSockets } from '../../load/kernel-sockets.ts';
import { connectLoad, runStep } from '../../load/open-loop.ts';
import { Publishers } from '../../load/publishers.ts';
import { triggerRequest } from '../../load/trigger-request.ts';
import {
  answerCalls,
  type Call,
  type CalledProcess,
  startCalled,
} from '../../machine/called-process.ts';
import { TokenSenders } from './token-senders.ts';

interface Busy {
  readonly app: AppAddress;
  readonly seconds: number;
}

interface Gathering {
  readonly app: AppAddress;
  /** The limit of a connection. */
  readonly framesPerSecond: number;
}

/** What the app does all the time; answered with what it did, in words. */
type NeighbourCalls = {
  hot: { ask: Busy; answer: string };
  connecting: { ask: Busy; answer: string };
  'slow-reading': { ask: Busy; answer: string };
  tokens: { ask: Busy; answer: string };
  /** Comes before `tokens`. */
  'gather-tokens': { ask: Gathering; answer: undefined };
};

export const neighbourKinds = [
  'hot',
  'connecting',
  'slow-reading',
  'tokens',
] as const satisfies readonly (keyof NeighbourCalls)[];
export type NeighbourKind = (typeof neighbourKinds)[number];

export function startNeighbour(pin: readonly string[]): CalledProcess<NeighbourCalls> {
  return startCalled(pin, import.meta.path);
}

const HOT_SUBSCRIBERS = 1000;
const HOT_EVENTS_PER_SECOND = 300;
const CONNECTING_AT_ONCE = 200;
const SLOW_READERS = 300;
const SLOW_EVENTS_PER_SECOND = 200;
const SLOW_EVENT_BYTES = 8000;
/** By then, the server has closed the slow ones, and others come. */
const SLOW_LIFE_MS = 3000;
const NO_LIMIT_MS = 60_000;

/** Triggers events to one channel with many subscribers. */
function beHot({ app, seconds }: Busy): string {
  const load = connectLoad(app, new KernelSockets(), {
    crowd: { channels: 1, subscribersEach: HOT_SUBSCRIBERS },
    publishers: 16,
  });
  const endMs = performance.now() + seconds * 1000;
  let delivered = 0;
  while (performance.now() < endMs) {
    const step = runStep(load, {
      publishesPerSecond: HOT_EVENTS_PER_SECOND,
      warmupSeconds: 0,
      seconds: 1,
      dataBytes: 100,
      limitMs: NO_LIMIT_MS,
    });
    delivered += step.delivered;
  }
  return `${Math.round(delivered / seconds).toLocaleString('en')} deliveries/s`;
}

function keepConnecting({ app, seconds }: Busy): string {
  const time = { warmupSeconds: 0, seconds };
  const { perSecond } = churn({ app, kind: 'public', atOnce: CONNECTING_AT_ONCE, ...time });
  return `${Math.round(perSecond).toLocaleString('en')} connections/s`;
}

/** Clients that subscribe, and then read nothing at all. */
class SlowReaders implements ClientOwner, Disposable {
  private readonly sockets = new KernelSockets();
  private missing = SLOW_READERS;

  constructor(app: AppAddress, channel: string) {
    const subscriptions = publicSubscriptions([channel]);
    const destination = { app, sockets: this.sockets, owner: this };
    for (let client = 0; client < SLOW_READERS; client += 1) {
      new BenchClient(destination, subscriptions);
    }
    while (this.missing > 0) this.sockets.poll(10);
  }

  subscribed(): void {
    this.missing -= 1;
  }

  left(): void {
    throw new Error('nobody here says goodbye');
  }

  lost(): void {
    // Some are closed while the last ones are still coming.
  }

  [Symbol.dispose](): void {
    this.sockets[Symbol.dispose]();
  }
}

/** Triggers large events to clients that do not read. When the server has closed these, others come. */
function readSlowly({ app, seconds }: Busy): string {
  using sockets = new KernelSockets();
  const channel = 'bench-slow';
  const publishers = new Publishers(sockets, app, 4);
  const request = triggerRequest(app, channel, eventData(1, SLOW_EVENT_BYTES));
  const endMs = performance.now() + seconds * 1000;
  let [events, readers] = [0, 0];
  while (performance.now() < endMs) {
    using _slow = new SlowReaders(app, channel);
    readers += SLOW_READERS;
    publishers.fill();
    const beganMs = performance.now();
    const lifeMs = Math.min(SLOW_LIFE_MS, endMs - beganMs);
    for (let sent = 0; performance.now() < beganMs + lifeMs; ) {
      const due = ((performance.now() - beganMs) / 1000) * SLOW_EVENTS_PER_SECOND;
      for (; sent < due; sent += 1) publishers.send(request);
      sockets.poll(2);
    }
    events += publishers.acceptedCount;
  }
  const perSecond = Math.round(events / seconds);
  return `${perSecond} events/s of ${SLOW_EVENT_BYTES} bytes to ${SLOW_READERS} who do not read, ${readers} in all`;
}

let tokenSenders: TokenSenders | undefined;

async function answer(call: Call<NeighbourCalls>): Promise<string | undefined> {
  switch (call.name) {
    case 'hot':
      return beHot(call.ask);
    case 'connecting':
      return keepConnecting(call.ask);
    case 'slow-reading':
      return readSlowly(call.ask);
    case 'gather-tokens':
      tokenSenders = new TokenSenders(call.ask.app, call.ask.framesPerSecond);
      tokenSenders.gather();
      return undefined;
    case 'tokens':
      return tokenSenders?.sendFor(call.ask.seconds);
    default:
      return call satisfies never;
  }
}

if (import.meta.main) answerCalls<NeighbourCalls>(answer);
