import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Timers } from '../../src/runtime/ports.ts';
import { monotonicTimers } from '../../src/runtime/system-timers.ts';
import { type RuleName, ruleNames } from '../../src/verify/check/verdict.ts';
import { Backend } from '../../src/verify/crowd/backend.ts';
import { CrowdClient } from '../../src/verify/crowd/crowd-client.ts';
import type { Part } from '../../src/verify/crowd/plan.ts';
import { Recorder } from '../../src/verify/crowd/recorder.ts';
import type { Fields, Op } from '../../src/verify/history/line.ts';
import { Waiting } from '../clients/waiting.ts';
import { eventually } from '../eventually.ts';
import { APP } from '../servers/fanfare.ts';
import { destinationOf } from './destination.ts';

/** How long an event and a request may take: tests wait for what comes, however slow the machine is. Milliseconds. */
const IN_TIME_MS = 60_000;

/** Longer than all that the checker waits for before everything must be right. Milliseconds. */
const CALM_MS = 61_000;

/** What a client knows of a channel. */
interface Known {
  /** The number of lines when it was confirmed. */
  readonly since: number;
  readonly user: string | undefined;
  members?: Set<string>;
  count?: number;
}

interface TestHistoryOptions {
  readonly app?: { readonly id: string; readonly key: string; readonly secret: string };
  /** The channels that keep a history. */
  readonly kept?: readonly string[];
}

/** A clock that skips time in which a test knows that nothing happens. */
class SkippingTimers implements Timers {
  skippedMs = 0;
  readonly after = monotonicTimers.after;

  now(): number {
    return monotonicTimers.now() + this.skippedMs;
  }
}

/**
 * Records what the clients and backends of a test send and receive, for the checker of `fanfare verify`, which alone says
 * what is right. The test waits until all has come that is to come.
 */
export class TestHistory extends Recorder implements Disposable {
  readonly clients: CrowdClient[] = [];
  private readonly app: NonNullable<TestHistoryOptions['app']>;
  private readonly clock: SkippingTimers;
  private readonly text: string[];
  private readonly waiting = new Waiting();
  /** The clients that have each event. */
  private readonly receivers = new Map<string, Set<number>>();
  /** The statuses of the answers. */
  private readonly answers = new Map<string, number>();
  private flushes = 0;
  private numbers = 0;
  /** By channel and client, of subscriptions that are confirmed. */
  private readonly channels = new Map<string, Map<number, Known>>();
  private readonly users = new Map<string, string>();

  constructor({ app = APP, kept = [] }: TestHistoryOptions = {}) {
    const rules = { kept, replay: [] };
    const text: string[] = [];
    const timers = new SkippingTimers();
    super(
      { history: 1, by: 'a test', app: app.id, T: IN_TIME_MS, rules, webhooks: false },
      timers,
      (line) => text.push(line),
    );
    this.app = app;
    this.clock = timers;
    this.text = text;
  }

  /** The number of a client that nobody else has. */
  nextNumber(): number {
    return ++this.numbers;
  }

  /** Connects a client, now and whenever its connection ends. */
  connect(port: number, part: Partial<Part>): CrowdClient {
    const number = this.nextNumber();
    const client = new CrowdClient({
      number,
      part: { channels: [], resumes: [], user: `user-${number}`, whispers: undefined, ...part },
      to: destinationOf(`http://127.0.0.1:${port}`),
      credentials: this.credentials,
      timeoutMs: IN_TIME_MS,
      recorder: this,
      timers: monotonicTimers,
      onRefused: (reason) => {
        throw new Error(reason);
      },
    });
    this.clients.push(client);
    void client.connect();
    return client;
  }

  /** A backend whose requests go to these servers in turn. */
  backend(...ports: readonly number[]): Backend {
    return new Backend({
      to: ports.map((port) => destinationOf(`http://127.0.0.1:${port}`)),
      credentials: this.credentials,
      timeoutMs: IN_TIME_MS,
      recorder: this,
      onForbidden: (answer) => {
        throw new Error(answer);
      },
    });
  }

  override add<O extends Op>(op: O, fields: Fields[O], t?: number): void {
    super.add(op, fields, t);
    this.note(op, fields);
    this.waiting.wake();
  }

  override connectionLost(): void {
    // What breaks something says so itself.
  }

  /** How many events were answered with 200. */
  get accepted(): number {
    return this.answers.values().reduce((sum, status) => sum + Number(status === 200), 0);
  }

  /** Settles once something is true of what was recorded. */
  async until(isTrue: () => boolean, what: string): Promise<void> {
    await this.waiting.until(isTrue, what);
  }

  /** Waits until all clients are subscribed. */
  async allAreThere(): Promise<void> {
    await this.until(() => this.clients.every(({ isReady }) => isReady), 'all subscriptions');
  }

  /**
   * Waits until everything has come that is on its way in these channels, and has that compared. What never becomes right is
   * left to the checker.
   */
  async settle(backend: Pick<Backend, 'trigger'>, ...channels: readonly string[]): Promise<void> {
    await this.allAreThere();
    for (const channel of channels) await this.flush(backend, channel);
    await this.compare();
  }

  /** Waits until all clients know the same of who is there, and has that compared. */
  async compare(): Promise<void> {
    await this.until(() => this.isSettled, 'right lists').catch(() => undefined);
    this.clock.skippedMs += CALM_MS;
    this.add('calm', {});
  }

  /** What was not as promised, or not tried of these rules. Nothing more is recorded. */
  problems(...tried: readonly RuleName[]): readonly string[] {
    const { rules, witnesses: all } = this.verdict();
    const witnesses = all.filter(({ excuse }) => excuse === undefined);
    const untried = tried.filter((name) => rules[name].checked === 0);
    const problems = [
      ...witnesses.map(({ rule, text }) => `${rule}: ${text}`),
      ...untried.map((name) => `${name} was not tried`),
    ];
    if (problems.length === 0) return [];
    const file = join(tmpdir(), `history-${crypto.randomUUID()}.jsonl`);
    writeFileSync(file, `${this.text.join('\n')}\n`, { mode: 0o600 });
    const broken = ruleNames.filter((name) => rules[name].broken > 0).length;
    return [...problems.slice(0, 10), `${broken} promises are broken, see ${file}`];
  }

  [Symbol.dispose](): void {
    for (const client of this.clients) client.stop();
  }

  private get credentials() {
    const { id: appId, key, secret } = this.app;
    return { appId, key, secret };
  }

  /** Waits until all subscribers have an event that comes after all that were answered before. */
  private async flush(backend: Pick<Backend, 'trigger'>, channel: string): Promise<void> {
    const trigger = async () => {
      const e = `last-${++this.flushes}`;
      await backend.trigger({ e, channels: [channel] });
      return e;
    };
    const e = await eventually(trigger, (name) => this.answers.get(name) === 200);
    const from = this.text.length;
    const has = (client: number) => this.receivers.get(e)?.has(client) === true;
    const isDone = () => {
      const all = this.channels.get(channel) ?? new Map<number, Known>();
      return all.entries().every(([client, { since }]) => since > from || has(client));
    };
    await this.until(isDone, `the last event of ${channel}`).catch(() => undefined);
  }

  private get isSettled(): boolean {
    for (const all of this.channels.values()) {
      const users = new Set(all.values().map(({ user }) => user));
      for (const { members, count } of all.values()) {
        const isRight = members === undefined || members.symmetricDifference(users).size === 0;
        if (!isRight || (count !== undefined && count !== all.size)) return false;
      }
    }
    return true;
  }

  private note<O extends Op>(op: O, fields: Fields[O]): void {
    const {
      c = 0,
      ch,
      e,
      user,
      members,
      count,
      status,
    } = fields as Partial<
      Fields['event'] &
        Fields['joined'] &
        Fields['counted'] &
        Fields['subscribed'] &
        Fields['answer']
    >;
    if (op === 'answer' && e !== undefined && status !== undefined) this.answers.set(e, status);
    if (op === 'close') for (const all of this.channels.values()) all.delete(c);
    if (typeof ch !== 'string') return;
    const all = this.channels.get(ch) ?? new Map<number, Known>();
    this.channels.set(ch, all);
    const known = all.get(c);
    if (op === 'event' && e !== undefined) {
      const receivers = this.receivers.get(e) ?? new Set();
      this.receivers.set(e, receivers.add(c));
    } else if (op === 'subscribe' && user !== undefined) this.users.set(`${c} ${ch}`, user);
    else if (op === 'subscribed') {
      const list = members === undefined ? {} : { members: new Set(members) };
      all.set(c, { since: this.text.length, user: this.users.get(`${c} ${ch}`), ...list });
    } else if (op === 'unsubscribe') all.delete(c);
    else if (op === 'joined' && user !== undefined) known?.members?.add(user);
    else if (op === 'left' && user !== undefined) known?.members?.delete(user);
    else if (op === 'counted' && known !== undefined && count !== undefined) known.count = count;
  }
}
