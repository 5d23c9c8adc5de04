import { expect, it } from 'bun:test';
import PusherJs from 'pusher-js';
import { optionsFor } from '../../testing/clients/official-client.ts';
import { trigger } from '../../testing/clients/sign.ts';
import { eventually } from '../../testing/eventually.ts';
import { isLong, runs, testSeed } from '../../testing/long-run.ts';
import { Random } from '../../testing/random.ts';
import { CuttingProxy } from '../../testing/servers/cutting-proxy.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { channels } from '../protocol/websocket/conversation.ts';

/** The official client on a bad network. Source: HTTP transports, §11. */

const CHANNEL = 'news';
const TRANSPORTS = ['xhr_streaming', 'xhr_polling'] as const;
const CLIENTS_EACH = runs(4, 20);
const CHAOS_MS = runs(3000, 60_000);
/** pusher-js itself waits for 15 s before it tries again. Twice as long after each failure: the machine may be busy. */
const CONNECTED_WITHIN_MS = 1000;

/** A page that connects again and again, each time with a new client: pusher-js gives streaming up after two cuts. */
class Page {
  /** What was wrong with what it received. */
  readonly faults: string[] = [];
  /** The number of the last event that it received, whatever the session. */
  last = -1;
  sessions = 0;
  private readonly port: number;
  private readonly transport: (typeof TRANSPORTS)[number];
  private pusher: PusherJs | undefined;
  private failures = 0;
  private giveUp: NodeJS.Timeout | undefined;

  constructor(port: number, transport: (typeof TRANSPORTS)[number]) {
    this.port = port;
    this.transport = transport;
    this.connect();
  }

  leave(): void {
    clearTimeout(this.giveUp);
    const { pusher } = this;
    this.pusher = undefined;
    pusher?.disconnect();
  }

  private connect(): void {
    const options = optionsFor({ port: this.port }, { enabledTransports: [this.transport] });
    const pusher = new PusherJs(APP.key, options);
    this.pusher = pusher;
    let expected: number | undefined;
    let isConfirmed = false;
    pusher.connection.bind('state_change', ({ current, previous }: Record<string, string>) => {
      if (current === 'connected') {
        clearTimeout(this.giveUp);
        this.sessions++;
        this.failures = 0;
      }
      // In a later turn: pusher-js still plans to connect again in this one.
      if (previous === 'connected') setImmediate(() => this.begin(pusher));
    });
    const channel = pusher.subscribe(CHANNEL);
    channel.bind('pusher:subscription_succeeded', () => {
      if (isConfirmed) this.faults.push('It was confirmed twice');
      isConfirmed = true;
    });
    channel.bind('e', ({ number }: { number: number }) => {
      if (expected !== undefined && number !== expected) {
        this.faults.push(`${this.transport} received ${number} instead of ${expected}`);
      }
      if (number <= this.last) this.faults.push(`It received ${number} after ${this.last}`);
      expected = number + 1;
      this.last = number;
    });
    this.giveUp = setTimeout(
      () => {
        this.failures++;
        this.begin(pusher);
      },
      CONNECTED_WITHIN_MS * 2 ** this.failures,
    );
  }

  private begin(before: PusherJs): void {
    if (this.pusher !== before) return;
    this.leave();
    this.connect();
  }
}

/** Publishes events of all sizes, some of them longer than a client reads of one response, as fast as they are taken. */
async function publish(server: Fanfare, random: Random, isOver: () => boolean): Promise<number> {
  let number = 0;
  while (!isOver()) {
    const text = random.chance(0.05) ? '€'.repeat(random.between(1, 100_000)) : '';
    await trigger(server, { name: 'e', channel: CHANNEL, data: JSON.stringify({ number, text }) });
    number++;
    if (random.chance(0.3)) await Bun.sleep(random.between(1, 20));
  }
  return number;
}

it(
  `pusher-js receives every event once and in order within a session, however its requests are cut, seed ${testSeed()}`,
  async () => {
    const random = new Random(testSeed());
    await using server = await startFanfare({ app: { limits: { eventDataBytes: 400_000 } } });
    await using proxy = await CuttingProxy.start({ targetPort: server.port, random, trouble: 0.2 });
    const pages = TRANSPORTS.flatMap((transport) =>
      Array.from({ length: CLIENTS_EACH }, () => new Page(proxy.port, transport)),
    );

    const endMs = performance.now() + CHAOS_MS;
    // Until enough has happened, which takes a busy machine longer.
    const published = await publish(
      server,
      random,
      () =>
        performance.now() > endMs &&
        proxy.fates.size > 2 &&
        pages.some(({ sessions }) => sessions > 1),
    );
    proxy.isCalm = true;
    // A client that has just lost its session comes back within a second.
    let number = published;
    await eventually(
      async () => {
        await trigger(server, { name: 'e', channel: CHANNEL, data: JSON.stringify({ number }) });
        number++;
        return pages.map(({ last }) => last);
      },
      (received) => received.every((last) => last >= number - 2),
    );

    expect(pages.flatMap(({ faults }) => faults)).toEqual([]);
    for (const page of pages) page.leave();
    // Sessions that were left between two polls last for 10 s.
    if (!isLong) return;
    await eventually(
      () => channels(server),
      (occupied) => !(CHANNEL in occupied),
    );
  },
  // Longer than two waits of `eventually`: its failure says who received what.
  CHAOS_MS + 150_000,
);
