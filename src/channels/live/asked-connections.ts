import type { Timers } from '../../runtime/ports.ts';
import type { App } from '../app.ts';
import type { ChannelText } from '../channel-name.ts';
import type { Topic } from '../event.ts';
import type { MemberSessions } from '../subscribing/member-sessions.ts';
import type { Session } from '../subscribing/session.ts';
import type { UserSessions } from '../users/user-sessions.ts';
import type { Ask, AskMore, CountsOfUsers, SendAskMessage } from './ask.ts';

/**
 * How a connection answers a probe. `pong`: by a WebSocket pong with the number. A number: by the last of that many
 * `pusher:pong`s, because earlier ones answer earlier pings. `undefined`: not at all, because it has closed.
 */
export type ExpectedAnswer = 'pong' | number | undefined;

/** Makes the client of a connection answer, after everything that was sent to it before. */
export type Probe = (session: Session, number: number) => ExpectedAnswer;

export interface AskedConnectionsOptions {
  /** The name of this loop, for the origins of asks. */
  readonly loop: string;
  /** Signed-in connections. */
  readonly sessions: Pick<UserSessions, 'of' | 'usersOf'>;
  /** Members of presence channels, who may not be signed in. */
  readonly members: Pick<MemberSessions, 'of'>;
  readonly probe: Probe;
  readonly send: SendAskMessage;
  readonly timers: Timers;
}

/** An answer that a connection owes. */
interface Pending {
  readonly ask: Pick<Ask, 'attempt' | 'origin'>;
  readonly userId: string;
  readonly number: number;
  readonly untilMs: number;
  /** How many `pusher:pong`s must come until it counts; 0: the WebSocket pong counts. */
  pongsLeft: number;
}

/** The channel of an ask, on this loop. */
interface Place {
  readonly app: Pick<App, 'id'>;
  readonly channel: ChannelText;
}

/** The users of one ask whose connections are being asked. */
interface Asking extends Place {
  readonly ask: Ask;
  readonly untilMs: number;
  readonly userIds: readonly string[];
  readonly from: number;
  /** How many connections of each user were asked, and how many were not. */
  readonly asked: [userId: string, connections: number][];
  readonly others: [userId: string, connections: number][];
}

/** More connections to ask, by user. */
interface AskingMore extends Place, Pick<Pending, 'ask' | 'untilMs'> {
  readonly connections: CountsOfUsers;
  readonly from: number;
}

/** The limit of users whose connections are asked in one turn of the loop. */
const USERS_AT_ONCE = 50;

/**
 * The limit of outstanding answers per connection. At the limit it is not asked again before some have come or have timed
 * out. A phone that answers after half a second owes as many if its user gets 200 publishes per second.
 */
const PENDING_MAX = 100;

/** The limit of connections of one user that are searched for those that count, from the newest one on. */
const CONNECTIONS_LOOKED_AT_MAX = 1_000;

/**
 * When all signed-in users are asked: how many users are examined, and how many of those in the channel are asked.
 */
const USERS_LOOKED_AT_MAX = 10_000;
const USERS_ASKED_MAX = 1_000;

/** How often overdue answers are removed. */
const SWEEP_MS = 1000;

/** The connections of this loop that owe an answer to an ask. */
export class AskedConnections {
  private readonly options: AskedConnectionsOptions;
  private readonly pending = new Map<Session, Pending[]>();
  private readonly away = new WeakSet<Session>();
  private numbers = 0;
  private isSweeping = false;

  constructor(options: AskedConnectionsOptions) {
    this.options = options;
  }

  /** Asks the connections of users that are in the channel. Must be called after the event of the ask was sent. */
  ask(app: App, channel: ChannelText, ask: Ask): void {
    const untilMs = this.options.timers.now() + ask.waitMs;
    const userIds = this.usersOf(app, channel, ask);
    this.askSome({ app, channel, ask, untilMs, userIds, from: 0, asked: [], others: [] });
  }

  /** Asks more of the connections. Which ones were asked before shows in what they owe. */
  askMore({ appId, channel, attempt, origin, waitMs, connections }: AskMore): void {
    const untilMs = this.options.timers.now() + waitMs;
    const place = { app: { id: appId }, channel: channel as ChannelText };
    this.askMoreOfSome({ ...place, ask: { attempt, origin }, untilMs, connections, from: 0 });
  }

  /** One slice per turn, so that a thousand users do not delay the loop. */
  private askSome(asking: Asking): void {
    const { ask, untilMs, userIds, from, asked, others } = asking;
    const { loop, send, timers } = this.options;
    const until = from + USERS_AT_ONCE;
    const atOnce = ask.atOnce ?? ask.connectionsMax;
    for (const userId of userIds.slice(from, until)) {
      const counted = this.counted(asking, userId).take(ask.connectionsMax).toArray();
      const some = counted.slice(0, atOnce);
      for (const session of some) this.probe(session, { ask, userId, untilMs });
      if (some.length > 0) asked.push([userId, some.length]);
      if (counted.length > atOnce) others.push([userId, counted.length - atOnce]);
    }
    if (until < userIds.length) {
      timers.after(0, () => this.askSome({ ...asking, from: until }));
      return;
    }
    const { attempt, loops } = ask;
    const report = { what: 'asked', attempt, connections: asked, loops } as const;
    const isAll = others.length === 0;
    send(ask.origin, isAll ? report : { ...report, others: { loop, connections: others } });
  }

  private askMoreOfSome(asking: AskingMore): void {
    const { ask, untilMs, connections, from } = asking;
    const until = from + USERS_AT_ONCE;
    for (const [userId, wanted] of connections.slice(from, until)) {
      const left = this.counted(asking, userId).filter((session) => !this.owes(session, ask));
      for (const session of left.take(wanted)) this.probe(session, { ask, userId, untilMs });
    }
    if (until >= connections.length) return;
    this.options.timers.after(0, () => this.askMoreOfSome({ ...asking, from: until }));
  }

  private owes(session: Session, { attempt, origin }: Pending['ask']): boolean {
    const pending = this.pending.get(session) ?? [];
    return pending.some(({ ask }) => ask.attempt === attempt && ask.origin === origin);
  }

  /** The connections of a user that count, the newest first. */
  private counted(place: Place, userId: string): IteratorObject<Session> {
    const all = this.connectionsOf(place, userId).values();
    return all.filter((session) => this.counts(session, place.channel));
  }

  /** The connections of a user, the newest first: an older one may be dead without the server knowing it. */
  private connectionsOf({ app, channel }: Place, userId: string): readonly Session[] {
    const { sessions, members } = this.options;
    const topic: Topic = `${app.id}/${channel}`;
    const joined = members.of(topic, userId).filter(({ user }) => user?.id !== userId);
    const all = [...joined, ...sessions.of(app, userId)];
    return all.slice(-CONNECTIONS_LOOKED_AT_MAX).reverse();
  }

  /** Reports that no connection on this loop is in the channel of an ask. */
  nobody({ origin, attempt, loops }: Ask): void {
    this.options.send(origin, { what: 'asked', attempt, connections: [], loops });
  }

  /**
   * A WebSocket pong has come. Returns whether it was expected. It also answers earlier pings: a client may answer only the
   * last of several. Source: RFC 6455, §5.5.3.
   */
  pong(session: Session, payload: string): boolean {
    const owed = this.pending.get(session)?.filter(({ pongsLeft }) => pongsLeft === 0) ?? [];
    const last = owed.findIndex(({ number }) => String(number) === payload);
    if (last === -1) return false;
    this.answered(session, owed.slice(0, last + 1));
    return true;
  }

  /** A `pusher:pong` has come. */
  pongEvent(session: Session): void {
    if (session.pongsOwed > 0) session.pongsOwed--;
    const pending = this.pending.get(session);
    if (pending === undefined) return;
    const answered = pending.filter((one) => one.pongsLeft > 0 && --one.pongsLeft === 0);
    if (answered.length > 0) this.answered(session, answered);
  }

  /** The client reports whether its page is hidden. An away connection receives everything, but is not asked. */
  setAway(session: Session, isAway: boolean): void {
    if (isAway) this.away.add(session);
    else this.away.delete(session);
  }

  /** Forgets a closed connection. */
  closed(session: Session): void {
    this.pending.delete(session);
  }

  private usersOf(app: App, channel: ChannelText, { userIds }: Ask): readonly string[] {
    if (userIds !== 'signed-in') return userIds;
    const { sessions } = this.options;
    return sessions
      .usersOf(app)
      .take(USERS_LOOKED_AT_MAX)
      .filter((userId) => sessions.of(app, userId).some((one) => this.counts(one, channel)))
      .take(USERS_ASKED_MAX)
      .toArray();
  }

  /** Whether the connection belongs to its user in a channel. */
  private counts(session: Session, channel: ChannelText): boolean {
    if (session.closed || session.user?.isLive === false || this.away.has(session)) return false;
    return session.subscription(channel)?.state === 'joined';
  }

  private probe(session: Session, asked: Pick<Pending, 'ask' | 'userId' | 'untilMs'>): void {
    const pending = this.pending.get(session) ?? [];
    if (pending.length >= PENDING_MAX) return;
    const number = ++this.numbers;
    const expected = this.options.probe(session, number);
    if (expected === undefined) return;
    pending.push({ ...asked, number, pongsLeft: expected === 'pong' ? 0 : expected });
    this.pending.set(session, pending);
    this.sweepLater();
  }

  private answered(session: Session, answered: readonly Pending[]): void {
    this.keep(session, (one) => !answered.includes(one));
    for (const { ask, userId } of answered) {
      this.options.send(ask.origin, { what: 'answered', attempt: ask.attempt, userId });
    }
  }

  private keep(session: Session, isKept: (one: Pending) => boolean): void {
    const kept = this.pending.get(session)?.filter(isKept) ?? [];
    if (kept.length === 0) this.pending.delete(session);
    else this.pending.set(session, kept);
  }

  private sweepLater(): void {
    if (this.isSweeping) return;
    this.isSweeping = true;
    this.options.timers.after(SWEEP_MS, () => {
      this.isSweeping = false;
      const nowMs = this.options.timers.now();
      for (const session of [...this.pending.keys()]) {
        this.keep(session, ({ untilMs }) => untilMs > nowMs);
      }
      if (this.pending.size > 0) this.sweepLater();
    });
  }
}
