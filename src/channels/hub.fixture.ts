import type { LogFields, Timers } from '../runtime/ports.ts';
import { RateLimitedLog } from '../runtime/rate-limited-log.ts';
import type { App } from './app.ts';
import { type ChannelName, parseChannelName } from './channel-name.ts';
import { type Topic, topicOf } from './event.ts';
import type { Hub } from './hub.ts';
import { LifecycleEvents } from './lifecycle/lifecycle-events.ts';
import { MemberChanges } from './lifecycle/member-changes.ts';
import type { AppWebhookEvent } from './lifecycle/webhook-event.ts';
import type {
  Audience,
  CachedEvent,
  EventCache,
  Member,
  Peer,
  Roster,
  SendOptions,
  Transition,
} from './ports.ts';
import { parseSocketId, type SocketId } from './socket-id.ts';
import { LocalChannels } from './subscribing/local-channels.ts';
import { Session, type Subscription } from './subscribing/session.ts';
import { Usage } from './usage.ts';
import { UserSessions } from './users/user-sessions.ts';
import { WatchlistEvents } from './users/watchlist-events.ts';

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
    authorizedConnectionsOnly: false,
    limits: {
      connections: 0,
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
    },
    webhooks: [],
    ...settings,
  };
}

class FakePeer implements Peer {
  readonly frames: string[] = [];
  readonly socketId: SocketId;

  constructor(id: SocketId) {
    this.socketId = id;
  }

  send(frame: string): void {
    this.frames.push(frame);
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
  readonly sent: { topic: Topic; frame: string; except: SocketId | Peer | undefined }[] = [];
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
  answer(value: unknown): void;
  fail(error: Error): void;
}

/** An engine that answers late: each call waits until the test answers it. */
export class LateEngine implements Roster, EventCache {
  readonly questions: Question[] = [];
  /** All calls so far. */
  readonly calls: string[] = [];

  join(_: App, channel: ChannelName, member: Member | undefined): Promise<Transition | 'full'> {
    return this.ask(`join ${channel.text} ${member?.userId ?? ''}`.trimEnd());
  }

  leave(_: App, channel: ChannelName, member: Member | undefined): Promise<Transition> {
    return this.ask(`leave ${channel.text} ${member?.userId ?? ''}`.trimEnd());
  }

  members(_: App, channel: ChannelName): Promise<readonly Member[]> {
    return this.ask(`members ${channel.text}`);
  }

  counts(): never {
    throw new Error('Not needed here');
  }

  channelCountOf(): never {
    throw new Error('Not needed here');
  }

  channels(): never {
    throw new Error('Not needed here');
  }

  put(topic: Topic, event: CachedEvent): Promise<void> {
    return this.ask(`put ${topic} ${event.name}`);
  }

  get(topic: Topic): Promise<CachedEvent | undefined> {
    return this.ask(`get ${topic}`);
  }

  /** Answers the oldest call, which must be this one, and waits until nothing more follows from it. */
  async answers(call: string, value: unknown): Promise<void> {
    const question = this.questions.shift();
    if (question?.call !== call) throw new Error(`Asked ${question?.call}, and not ${call}`);
    question.answer(value);
    await settled();
  }

  private ask<T>(call: string): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.calls.push(call);
    this.questions.push({ call, answer: (value) => resolve(value as T), fail: reject });
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
  /** The webhook events. */
  readonly reported: AppWebhookEvent[];
  readonly counted: string[];
  readonly logged: { level: string; message: string; fields: LogFields | undefined }[];
}

export function hubWith(engine: Roster & EventCache): FakeHub {
  const logged: FakeHub['logged'] = [];
  const at = (level: string) => (message: string, fields?: LogFields) => {
    logged.push({ level, message, fields });
  };
  const audience = new FakeAudience();
  const clock = new FakeClock();
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  const counted: string[] = [];
  const meter = { count: (counter: string) => void counted.push(counter) };
  const usage = new Usage(clock, log, meter);
  const reported: AppWebhookEvent[] = [];
  return {
    audience,
    roster: engine,
    channels: new LocalChannels(),
    users: { signIn: () => true, signOut: () => true, online: () => new Set<string>() },
    cache: engine,
    clock,
    log,
    rateLimitedLog: new RateLimitedLog(log, clock),
    meter,
    lifecycle: new LifecycleEvents({
      timers: clock,
      broadcaster: { audience },
      usage,
      sink: {
        emit: (event) => void reported.push(event),
      },
    }),
    memberChanges: new MemberChanges({ timers: clock, broadcaster: { audience }, usage }),
    watchlists: new WatchlistEvents(clock, { audience }),
    usage,
    endConnectionOf: () => undefined,
    hastenDepartures: () => false,
    subscriptionErrors: true,
    sessions: new UserSessions(),
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
