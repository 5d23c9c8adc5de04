import { MemoryEngine } from '../engines/memory.ts';
import { RateLimitedLog } from '../runtime/logging/rate-limited-log.ts';
import type { LogFields, Timers } from '../runtime/ports.ts';
import type { App } from './app.ts';
import { type ChannelName, parseChannelName } from './channel-name.ts';
import { type Topic, topicOf } from './event.ts';
import { Revocations } from './grants/revocations.ts';
import type { EventId } from './history/event-id.ts';
import type { Hub } from './hub.ts';
import type { Transition } from './lifecycle/transition.ts';
import type { AppWebhookEvent } from './lifecycle/webhook-event.ts';
import { WebhookEvents } from './lifecycle/webhook-events.ts';
import type { AskMessage } from './live/ask.ts';
import { AskedConnections } from './live/asked-connections.ts';
import type {
  Audience,
  Authority,
  Entered,
  Entry,
  Exit,
  Member,
  Peer,
  Publication,
  SendOptions,
  UserStatus,
} from './ports.ts';
import { ProblemBook } from './problems/problem-book.ts';
import type { RuleEvent } from './push-rules/push-rule.ts';
import { TokenTurns } from './signatures/token-turns.ts';
import { parseSocketId, type SocketId } from './socket-id.ts';
import { LocalChannels } from './subscribing/local-channels.ts';
import { MemberSessions } from './subscribing/member-sessions.ts';
import { Session, type Subscription } from './subscribing/session.ts';
import { StayBudget } from './subscribing/stay-budget.ts';
import { Usage } from './usage/usage.ts';
import { UserSessions } from './users/user-sessions.ts';

/** Fakes of everything the core asks of the world, which remember their calls. */

export function socketId(text: string): SocketId {
  const id = parseSocketId(text);
  if (id === undefined) throw new Error(`${text} is no socket id`);
  return id;
}

export function channelName(text: string): ChannelName {
  const parsed = parseChannelName(text);
  if (!parsed.ok) throw new Error(`${text} is ${parsed.why}`);
  return parsed.channel;
}

/** The app and the connection of the vectors in §5.5. */
export const VECTOR = {
  key: '278d425bdf160c739803',
  secret: '7ad3773142a6692b25b8',
  socketId: socketId('1234.1234'),
} as const;

export function appWith(settings: Partial<App> = {}): App {
  return {
    id: 'app',
    name: 'test',
    enabled: true,
    keys: [VECTOR],
    clientEvents: true,
    subscriptionCounts: false,
    watchlists: false,
    offlineSeconds: 3,
    authorizedConnectionsOnly: false,
    allowedOrigins: [],
    compressAboveBytes: 0,
    limits: {
      connections: 0,
      connectionsPerUser: 0,
      messagesPerDay: 0,
      eventDataBytes: 10_240,
      channelsPerTrigger: 100,
      eventsPerBatch: 10,
      presenceMembers: 100,
      clientEventsPerSecond: 10,
      channelsPerConnection: 0,
      subscriptionsPerSecond: 0,
      memberChangesPerSecond: 0,
      triggersPerSecond: 0,
      queriesPerSecond: 0,
      historyBytes: 0,
      appendBytes: 262_144,
    },
    presence: [],
    history: [],
    webhooks: [],
    pushRules: [],
    ...settings,
  };
}

class FakePeer implements Peer {
  readonly frames: string[] = [];
  readonly socketId: SocketId;

  constructor(id: SocketId) {
    this.socketId = id;
  }

  /** What the test says that waits. */
  waiting = 0;

  /** In how many writes the frames were sent. */
  writes = 0;

  send(frame: string): void {
    this.writes++;
    this.frames.push(frame);
  }

  sendAll(frames: readonly string[]): void {
    this.writes++;
    this.frames.push(...frames);
  }

  waitingBytes(): number {
    return this.waiting;
  }

  /** Returns the events since the last call. */
  received(): string[] {
    return this.frames.splice(0).map((frame) => JSON.parse(frame).event);
  }
}

class FakeSession extends Session {
  readonly peer: FakePeer;
  readonly socketId: SocketId;

  constructor(app: App, id: SocketId) {
    super(app);
    this.socketId = id;
    this.peer = new FakePeer(id);
  }
}

export function sessionOf(app: App, id = '1.1') {
  return new FakeSession(app, socketId(id));
}

export function subscriptionTo(
  app: App,
  name: string,
  member?: Member,
  state: Subscription['state'] = 'joined',
): Subscription {
  const channel = channelName(name);
  return { channel, topic: topicOf(app, channel), member, state };
}

class FakeAudience implements Audience {
  readonly members = new Map<Topic, Set<Peer>>();
  readonly sent: { topic: Topic; frame: string; except: SocketId | undefined }[] = [];
  /** The frames that were allowed to wait. */
  readonly sentSoon: string[] = [];

  join(peer: Peer, topic: Topic): void {
    const peers = this.members.get(topic) ?? new Set();
    this.members.set(topic, peers.add(peer));
  }

  leave(peer: Peer, topic: Topic): void {
    this.members.get(topic)?.delete(peer);
  }

  leaveAll(peer: Peer): void {
    for (const peers of this.members.values()) peers.delete(peer);
  }

  send(topic: Topic, makeFrame: () => string, { except, mayWait }: SendOptions = {}): number {
    const frame = makeFrame();
    this.sent.push({ topic, frame, except });
    if (mayWait) this.sentSoon.push(frame);
    const peers = this.members.get(topic) ?? new Set();
    for (const peer of peers) peer.send(frame);
    return peers.size;
  }
}

/** A call that the test answers. */
interface Question {
  readonly call: string;
  readonly answer: () => void;
}

/** An engine in memory that answers late: each call takes effect, and is answered, when the test says so. */
export class LateEngine implements Authority {
  readonly questions: Question[] = [];
  /** All calls so far. */
  readonly calls: string[] = [];
  /** Set by the hub. */
  memory!: MemoryEngine;
  private isFull = false;

  join(entry: Entry, entered: (entered: Entered) => void): Promise<boolean> {
    const call = `join ${entry.channel.text} ${entry.member?.userId ?? ''}`.trimEnd();
    return this.ask(call, () => !this.isFull && this.memory.join(entry, entered));
  }

  leave(exit: Exit): Promise<void> {
    const call = `leave ${exit.channel.text} ${exit.held} ${exit.userId ?? ''}`.trimEnd();
    return this.ask(call, () => this.memory.leave(exit));
  }

  publish(publication: Publication): Promise<EventId | undefined> {
    return this.ask(`publish ${publication.channel}`, () => this.memory.publish(publication));
  }

  append(): never {
    throw new Error('Not needed here');
  }

  stopValue(): never {
    throw new Error('Not needed here');
  }

  signIn(app: App, userId: string, held: number): Promise<boolean> {
    return this.ask(`in ${userId}`, () => this.memory.signIn(app, userId, held));
  }

  signOut(app: App, userId: string, held: number): Promise<void> {
    return this.ask(`out ${userId}`, () => this.memory.signOut(app, userId, held));
  }

  watch(app: App, userIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.ask(`watch ${userIds.join()}`, () => this.memory.watch(app, userIds));
  }

  unwatch(_: App, userIds: readonly string[]): Promise<void> {
    return this.ask(`unwatch ${userIds.join()}`, () => this.memory.unwatch());
  }

  userStatuses(app: App, userIds: readonly string[]): Promise<readonly UserStatus[]> {
    return this.ask(`statuses ${userIds.join()}`, () => this.memory.userStatuses(app, userIds));
  }

  terminate(): never {
    throw new Error('Not needed here');
  }

  members(): never {
    throw new Error('Not needed here');
  }

  membersPage(): never {
    throw new Error('Not needed here');
  }

  member(): never {
    throw new Error('Not needed here');
  }

  counts(): never {
    throw new Error('Not needed here');
  }

  cached(): never {
    throw new Error('Not needed here');
  }

  history(): never {
    throw new Error('Not needed here');
  }

  forgetHistory(): never {
    throw new Error('Not needed here');
  }

  channelCountOf(): never {
    throw new Error('Not needed here');
  }

  channels(): never {
    throw new Error('Not needed here');
  }

  /** Answers the oldest call, which must be this one, and waits until nothing more follows from it. */
  async answers(call: string): Promise<void> {
    const question = this.questions.shift();
    if (question?.call !== call) throw new Error(`Asked ${question?.call}, and not ${call}`);
    question.answer();
    await settled();
  }

  /** Answers the oldest call, whatever it is. */
  async answersNext(): Promise<void> {
    this.questions.shift()?.answer();
    await settled();
  }

  /** Refuses the oldest call, a join, because the channel is full. */
  async isFullFor(call: string): Promise<void> {
    this.isFull = true;
    await this.answers(call);
    this.isFull = false;
  }

  private ask<T>(call: string, run: () => T): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    this.calls.push(call);
    this.questions.push({ call, answer: () => resolve(run()) });
    return promise;
  }
}

/** Waits until all pending promise callbacks have run. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

interface Alarm {
  atMs: number;
  readonly run: () => void;
}

/** A clock that the test advances. */
export class FakeClock implements Timers {
  private nowMs = 1_700_000_000_000;
  private readonly alarms = new Set<Alarm>();

  now(): number {
    return this.nowMs;
  }

  after(delayMs: number, run: () => void): () => void {
    const alarm = { atMs: this.nowMs + delayMs, run };
    this.alarms.add(alarm);
    return () => this.alarms.delete(alarm);
  }

  /** Advances the clock; timers that become due run at their times. */
  advance(ms: number): void {
    const end = this.nowMs + ms;
    for (let next = this.nextBefore(end); next !== undefined; next = this.nextBefore(end)) {
      this.alarms.delete(next);
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.run();
    }
    this.nowMs = end;
  }

  /** Sets the clock back; timers keep their remaining time. */
  setBack(ms: number): void {
    this.nowMs -= ms;
    for (const alarm of this.alarms) alarm.atMs -= ms;
  }

  private nextBefore(end: number): Alarm | undefined {
    return [...this.alarms].filter(({ atMs }) => atMs <= end).sort((a, b) => a.atMs - b.atMs)[0];
  }
}

export interface FakeHub extends Hub {
  readonly audience: FakeAudience;
  readonly clock: FakeClock;
  /** The engine in memory: the authority itself, or what is behind a late one. */
  readonly memory: MemoryEngine;
  /** The webhook events. */
  readonly reported: AppWebhookEvent[];
  /** The messages about asks that the loop has sent. */
  readonly askMessages: AskMessage[];
  /** The events of apps with push rules. */
  readonly notedForRules: RuleEvent[];
  readonly counted: string[];
  readonly logged: { level: string; message: string; fields: LogFields | undefined }[];
}

/** A hub with an engine in memory, or behind one that answers late. */
export function hubWith(engine?: LateEngine): FakeHub {
  const logged: FakeHub['logged'] = [];
  const at = (level: string) => (message: string, fields?: LogFields) => {
    logged.push({ level, message, fields });
  };
  const audience = new FakeAudience();
  const clock = new FakeClock();
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  const ruleEvents: RuleEvent[] = [];
  const counted: string[] = [];
  const meter = { count: (counter: string) => void counted.push(counter) };
  const usage = new Usage({ clock, log, meter });
  const reported: AppWebhookEvent[] = [];
  const sink = { emit: (event: AppWebhookEvent) => void reported.push(event) };
  const webhooks = new WebhookEvents({ clock, usage, sink });
  const sessions = new UserSessions();
  const members = new MemberSessions();
  const askMessages: AskMessage[] = [];
  const asked = new AskedConnections({
    sessions,
    members,
    probe(session, number) {
      session.peer.send(`{"event":"probe","data":${number}}`);
      return 'pong';
    },
    loop: 'here',
    send: (_loop, message) => void askMessages.push(message),
    timers: clock,
  });
  const memory = new MemoryEngine({
    timers: clock,
    monotonic: clock,
    webhooks,
    broadcaster: { audience, usage, asked },
    meter,
    historyBytes: 1_000_000,
    terminate: () => undefined,
  });
  if (engine !== undefined) engine.memory = memory;
  return {
    audience,
    authority: engine ?? memory,
    memory,
    channels: new LocalChannels(),
    clock,
    log,
    rateLimitedLog: new RateLimitedLog(log, clock),
    meter,
    webhooks,
    usage,
    endConnectionOf: () => undefined,
    hastenDepartures: () => false,
    historySendBytes: 500_000,
    subscriptionErrors: true,
    authorizationTimeoutSeconds: 10,
    revocations: new Revocations(clock),
    revoke: async () => 'revoked',
    openedAtMs: () => clock.now(),
    keySets: { refresh: () => undefined },
    tokenTurns: new TokenTurns({ timers: clock, addressOf: () => '' }),
    ruleEvents: { note: (_, event) => void ruleEvents.push(event) },
    notedForRules: ruleEvents,
    problems: new ProblemBook({ now: Date.now }),
    sessions,
    members,
    stays: new StayBudget(1000, clock),
    asked,
    askMessages,
    reported,
    counted,
    logged,
  };
}

/** A transition that changed nothing but this. */
export function transition(changed: Partial<Transition> = {}): Transition {
  return {
    occupied: false,
    vacated: false,
    memberAdded: false,
    memberRemoved: false,
    counts: { subscriptions: 1, users: 0 },
    ...changed,
  };
}
