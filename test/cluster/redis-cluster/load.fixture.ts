import { partitionOf } from '../../../src/engines/partition.ts';
import { SLOTS } from '../../../src/engines/redis/link/cluster/slots.ts';
import type { RuleName } from '../../../src/verify/check/verdict.ts';
import type { CrowdClient } from '../../../src/verify/crowd/crowd-client.ts';
import type { Fields, Op } from '../../../src/verify/history/line.ts';
import { eventually } from '../../../testing/eventually.ts';
import type { Fanfare } from '../../../testing/servers/fanfare.ts';
import { newApp, TestApp } from '../../../testing/servers/test-app.ts';
import { TestHistory } from '../../../testing/verify/test-history.ts';

/** Channels with events and members who come and go, while a Redis Cluster changes. */

const CHANNELS = Array.from({ length: 48 }, (_, n) => `presence-room-${n}`);
/** Some of them keep a history. */
const KEPT = ['presence-room-1*', 'presence-room-2*'];
const HISTORY = { seconds: 600, events: 5_000 };
/** Each is in all channels, and stays there. */
const STAYING = 4;
/** Each leaves one channel after the other, and enters it again. */
const GUESTS = 4;

const EVENTS_PER_SECOND = 200;
const EVENTS_PAUSE_MS = 20;
const VISIT_PAUSE_MS = 50;
/** The limit of events of a channel without an answer, so that a busy machine gets fewer. */
const WAITING_MAX = 4;

const TRIED: readonly RuleName[] = [
  ...(['order', 'after', 'once', 'known', 'arrives'] as const),
  ...(['resumes', 'members', 'present'] as const),
];

/** An event that was triggered, by the clock of the history. Milliseconds. */
export interface Sent {
  readonly channel: string;
  readonly sentAtMs: number;
  answeredAtMs: number;
  status: number;
}

/** Notes what clients were told of those who stay. */
class LoadHistory extends TestHistory {
  readonly sent = new Map<string, Sent>();
  isStarted = false;
  /** How many events of each channel were answered with 200 that were sent since then. */
  readonly served = new Map<string, number>();
  servedFromMs = 0;
  /** Whether who resumed has got everything, by channel. */
  readonly resumed = new Map<string, boolean>();
  /** Clients whose connection has ended, by number. */
  readonly closed = new Set<number>();
  /** Who is said to have gone or come. */
  private readonly changes: (readonly [user: string, text: string])[] = [];

  /** Those of them whose connection has stayed open. */
  get falseChanges(): readonly string[] {
    const gone = new Set([...this.closed].map((number) => this.userOf(number)));
    return this.changes.filter(([user]) => !gone.has(user)).map(([, text]) => text);
  }

  /** Who has the client with this number; nobody has two. */
  userOf: (number: number) => string = () => '';

  override add<O extends Op>(op: O, fields: Fields[O], t?: number): void {
    super.add(op, fields, t);
    if (!this.isStarted) return;
    const {
      c = 0,
      user,
      e,
      ch,
      status,
      resume,
    } = fields as Partial<Fields['joined'] & Fields['answer'] & Fields['subscribed']> & {
      readonly ch?: unknown;
    };
    if (resume !== undefined) this.resumed.set(String(ch), resume.ok);
    if ((op === 'joined' || op === 'left') && user?.startsWith('staying') === true) {
      this.changes.push([user, `${op} ${user} ${ch} at ${this.now}`]);
    }
    if (op === 'close') this.closed.add(c);
    if (op === 'trigger' && Array.isArray(ch)) {
      const channel = String(ch[0]);
      const one = { channel, sentAtMs: this.now, answeredAtMs: Number.POSITIVE_INFINITY };
      this.sent.set(e ?? '', { ...one, status: 0 });
    }
    const sent = op === 'answer' ? this.sent.get(e ?? '') : undefined;
    if (sent === undefined) return;
    Object.assign(sent, { status, answeredAtMs: this.now });
    const { channel, sentAtMs } = sent;
    if (status === 200 && sentAtMs >= this.servedFromMs) {
      this.served.set(channel, (this.served.get(channel) ?? 0) + 1);
    }
  }
}

export class Load implements Disposable {
  readonly history: LoadHistory;
  private readonly ports: readonly number[];
  /** Whose each client is. */
  private readonly users: string[] = [];
  private readonly guests: readonly CrowdClient[];
  /** It is away during the load, and resumes afterwards. */
  private readonly returning: CrowdClient;
  /** The channels that keep a history. */
  private readonly kept = CHANNELS.filter((channel) =>
    KEPT.some((pattern) => channel.startsWith(pattern.slice(0, -1))),
  );
  private readonly app: TestApp;
  private isOver = false;
  private work: Promise<unknown> = Promise.resolve();

  private constructor(app: TestApp, ports: readonly number[], slots: readonly number[]) {
    this.app = app;
    this.ports = ports;
    this.history = new LoadHistory({ app, kept: KEPT });
    this.history.userOf = (number) => this.users[number - 1] ?? '';
    const others = this.channelsIn(slots, false);
    for (let n = 0; n < STAYING; n++) {
      this.connect(`staying-${n}`);
      if (slots.length > 0) this.connect(`staying-apart-${n}`, others);
    }
    this.guests = Array.from({ length: GUESTS }, (_, n) => this.connect(`guest-${n}`));
    this.returning = this.connect('returning', this.kept, this.kept);
  }

  /** Connects all clients to these servers. Some are in no channel of these slots. */
  static async open(servers: readonly Fanfare[], slots: readonly number[] = []): Promise<Load> {
    const [first] = servers;
    if (first === undefined) throw new Error('There is no server');
    // With a limit, clients receive only the last of several changes of one user.
    const limits = { memberChangesPerSecond: 0 };
    const history = KEPT.map((channels) => ({ channels, ...HISTORY }));
    const app = await newApp(first, { limits, history });
    for (const server of servers) {
      const there = new TestApp(server, app);
      await eventually(
        async () => (await there.api('GET', '/channels')).status,
        (status) => status === 200,
      );
    }
    const load = new Load(
      app,
      servers.map(({ port }) => port),
      slots,
    );
    // Everybody knows who is there.
    await load.settle();
    for (const channel of load.kept) load.returning.leave(channel);
    return load;
  }

  /** The channels that are in one of these slots, or in none of them. */
  channelsIn(slots: readonly number[], isIn = true): string[] {
    return CHANNELS.filter((channel) => {
      const slot = SLOTS[partitionOf(this.app, channel) % SLOTS.length];
      return slots.includes(slot?.number ?? -1) === isIn;
    });
  }

  /** Begins to send events, and lets guests come and go. */
  start(): void {
    this.isOver = false;
    this.history.isStarted = true;
    this.work = Promise.all([this.trigger(), ...this.guests.map((_, n) => this.visit(n))]);
  }

  /** Settles when this number of events of each of these channels, triggered from now on, has been answered with 200. */
  async isServed(channels: readonly string[] = CHANNELS, times = 2): Promise<void> {
    const { history } = this;
    const { served } = history;
    served.clear();
    history.servedFromMs = history.now;
    await history.until(
      () => channels.every((channel) => (served.get(channel) ?? 0) >= times),
      'answers in all channels',
    );
  }

  /** Ends the load. Settles when all clients have all that there is. */
  async end(): Promise<void> {
    this.isOver = true;
    await this.work;
    for (const channel of this.kept) this.returning.enter(channel);
    await this.settle();
  }

  /** The channels in which a client could not resume, of those that keep a history. */
  get forgotten(): readonly string[] {
    return this.kept.filter((channel) => this.history.resumed.get(channel) !== true);
  }

  /** The users whose connection has ended. */
  get closed(): readonly string[] {
    return [...this.history.closed].map((number) => this.history.userOf(number)).toSorted();
  }

  /** The statuses of the answers to events in these channels. */
  statuses(channels: readonly string[] = CHANNELS): readonly number[] {
    const own = this.history.sent.values().filter(({ channel }) => channels.includes(channel));
    return [...new Set(own.map(({ status }) => status))];
  }

  /** What was not as promised. */
  problems(): readonly string[] {
    return [...this.history.falseChanges, ...this.history.problems(...TRIED)];
  }

  [Symbol.dispose](): void {
    this.isOver = true;
    this.history[Symbol.dispose]();
  }

  private async settle(): Promise<void> {
    const backend = this.history.backend(...this.ports);
    await this.history.settle(backend, ...CHANNELS);
    for (const channel of CHANNELS) {
      // After a loss of data, lists are answered once all servers have stated what they hold.
      await eventually(
        async () => (await this.app.api('GET', `/channels/${channel}/users`)).status,
        (status) => status === 200,
      );
      await backend.askUsers(channel);
    }
  }

  private connect(user: string, channels = CHANNELS, resumes: readonly string[] = []): CrowdClient {
    const port = this.ports[this.users.length % this.ports.length] ?? 0;
    this.users.push(user);
    return this.history.connect(port, { channels, user, resumes });
  }

  private async trigger(): Promise<void> {
    const { history } = this;
    const backend = history.backend(...this.ports);
    const waiting = CHANNELS.map(() => new Set<Promise<void>>());
    const startMs = history.now;
    for (let n = 0; !this.isOver; ) {
      const due = ((history.now - startMs) * EVENTS_PER_SECOND) / 1000;
      for (; n < due; n++) {
        const own = waiting[n % CHANNELS.length];
        if (own === undefined || own.size >= WAITING_MAX) continue;
        const channels = [CHANNELS[n % CHANNELS.length] ?? ''];
        const answered = backend.trigger({ e: `event-${history.sent.size}`, channels });
        own.add(answered);
        void answered.then(() => own.delete(answered));
      }
      await Bun.sleep(EVENTS_PAUSE_MS);
    }
    await Promise.all(waiting.flatMap((own) => [...own]));
  }

  private async visit(n: number): Promise<void> {
    const guest = this.guests[n];
    for (let visits = n * GUESTS; !this.isOver; visits++) {
      const channel = CHANNELS[visits % CHANNELS.length] ?? '';
      guest?.leave(channel);
      await Bun.sleep(VISIT_PAUSE_MS);
      guest?.enter(channel);
    }
  }
}
