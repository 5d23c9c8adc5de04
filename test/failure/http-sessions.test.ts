import { expect, it } from 'bun:test';
import PusherJs from 'pusher-js';
import { optionsFor } from '../../testing/clients/official-client.ts';
import { trigger } from '../../testing/clients/sign.ts';
import { eventually } from '../../testing/eventually.ts';
import { isLong, runs, testSeed } from '../../testing/long-run.ts';
import { Random } from '../../testing/random.ts';
import { CuttingProxy } from '../../testing/servers/cutting-proxy.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { NotedPusher } from '../../testing/verify/noted-pusher.ts';
import { TestHistory } from '../../testing/verify/test-history.ts';
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
  readonly noted: NotedPusher;
  /** The number of the last event that it received, whatever the session. */
  last = 0;
  private readonly port: number;
  private readonly transport: (typeof TRANSPORTS)[number];
  private pusher: PusherJs | undefined;
  private failures = 0;
  private giveUp: NodeJS.Timeout | undefined;

  constructor(port: number, transport: (typeof TRANSPORTS)[number], noted: NotedPusher) {
    this.port = port;
    this.transport = transport;
    this.noted = noted;
    noted.onEvent = (_, e) => {
      this.last = Number(e);
    };
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
    this.noted.note(pusher);
    pusher.connection.bind('state_change', ({ current, previous }: Record<string, string>) => {
      if (current === 'connected') {
        clearTimeout(this.giveUp);
        this.failures = 0;
      }
      // In a later turn: pusher-js still plans to connect again in this one.
      if (previous === 'connected') setImmediate(() => this.begin(pusher));
    });
    this.noted.subscribe(pusher, CHANNEL);
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

/** Publishes events of all sizes, some of them longer than a client reads of one response. */
class Publisher {
  /** The number of the last event, from 1 on. */
  last = 0;
  private readonly server: Fanfare;
  private readonly history: TestHistory;

  constructor(server: Fanfare, history: TestHistory) {
    this.server = server;
    this.history = history;
  }

  async publish(text = ''): Promise<void> {
    const e = String(++this.last);
    this.history.add('trigger', { e, ch: [CHANNEL] });
    await trigger(this.server, { name: 'e', channel: CHANNEL, data: JSON.stringify({ e, text }) });
    this.history.add('answer', { e, status: 200 });
  }

  /** As fast as they are taken. */
  async publishUntil(isOver: () => boolean, random: Random): Promise<void> {
    while (!isOver()) {
      await this.publish(random.chance(0.05) ? '€'.repeat(random.between(1, 100_000)) : '');
      if (random.chance(0.3)) await Bun.sleep(random.between(1, 20));
    }
  }
}

it(
  `pusher-js receives every event once and in order within a session, however its requests are cut, seed ${testSeed()}`,
  async () => {
    const random = new Random(testSeed());
    await using server = await startFanfare({ app: { limits: { eventDataBytes: 400_000 } } });
    await using proxy = await CuttingProxy.start({ targetPort: server.port, random, trouble: 0.2 });
    using history = new TestHistory();
    const pages = Array.from({ length: TRANSPORTS.length * CLIENTS_EACH }, (_, n) => {
      const transport = TRANSPORTS[n % TRANSPORTS.length] ?? TRANSPORTS[0];
      return new Page(proxy.port, transport, new NotedPusher(history, n + 1, ''));
    });

    const endMs = performance.now() + CHAOS_MS;
    const publisher = new Publisher(server, history);
    // Until enough has happened, which takes a busy machine longer.
    await publisher.publishUntil(
      () =>
        performance.now() > endMs &&
        proxy.fates.size > 2 &&
        pages.some(({ noted }) => noted.connections > 1),
      random,
    );
    proxy.isCalm = true;
    // A client that has just lost its session comes back within a second.
    await eventually(
      async () => {
        await publisher.publish();
        return pages.map(({ last }) => last);
      },
      (received) => received.every((last) => last >= publisher.last - 1),
    );

    expect(history.problems('order', 'after', 'once', 'known', 'arrives')).toEqual([]);
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
