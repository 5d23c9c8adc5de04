import type { Timers } from '../../runtime/ports.ts';
import type { App } from '../app.ts';
import { type ChannelName, parseChannelName, userChannel } from '../channel-name.ts';
import { ask } from '../engine-failure.ts';
import type { ChannelEvent } from '../event.ts';
import type { EventId } from '../history/event-id.ts';
import type { Hub } from '../hub.ts';
import { type MaybePromise, recover } from '../maybe-promise.ts';
import { publish } from '../publish.ts';
import type {
  Ask,
  AskedUsers,
  AskReport,
  LiveAnswer,
  LiveEvent,
  LiveUser,
  SendAskMessage,
} from './ask.ts';

export interface LiveAsksOptions {
  readonly hub: Pick<Hub, 'authority' | 'meter' | 'usage' | 'ruleEvents'>;
  /** The name of this loop, for the answers of others. */
  readonly origin: string;
  readonly send: SendAskMessage;
  /** A monotonic clock. */
  readonly timers: Timers;
}

/** The limits of connections to ask: of one user, and for all users of one event. */
const CONNECTIONS_OF_USER_MAX = 20;
const CONNECTIONS_MAX = 10_000;

/**
 * How many connections of a user each loop asks at once. More wait until all loops have reported what they have: few users
 * have more on one loop, and most of these have answered by then.
 */
const AT_ONCE = 2;

/** The limits of users that all loops and that one loop may name, if every signed-in user is asked. */
const NAMED_USERS_MAX = 10_000;
const NAMED_BY_LOOP_MAX = 1_000;

/** The limit of user channels that are sent the event in one turn of the loop. */
const USERS_AT_ONCE = 25;

/** What is known about one user so far. */
interface Known {
  connections: number;
  state: 'open' | 'reached' | 'absent' | 'silent';
  answeredAfterMs: number | undefined;
}

function unknownUser(): Known {
  return { connections: 0, state: 'open', answeredAfterMs: undefined };
}

/** An event for some users. */
interface Attempt {
  readonly number: number;
  readonly group: Group;
  readonly appId: string;
  readonly channel: string;
  readonly userIds: AskedUsers;
  /** The number of loops that the event was sent to; `undefined`: not known yet. */
  loops: number | undefined;
  /** The loops that have reported how many connections they asked. */
  reports: number;
  /** The connections that were not asked at once. */
  readonly others: Others[];
}

/** The connections of a user that a loop has not asked at once. */
interface Others {
  readonly loop: string;
  readonly userId: string;
  readonly connections: number;
}

/** All asks for one `LiveEvent`. */
interface Group {
  readonly users: Map<string, Known>;
  readonly attempts: number[];
  readonly startedAtMs: number;
  readonly waitMs: number;
  /** The limit of connections to ask of each user. */
  readonly connectionsMax: number;
  /** The number of undecided users. */
  open: number;
  /** Some loops have not named yet whom they ask. */
  isGrowing: boolean;
  failures: number;
  readonly end: () => void;
}

/**
 * Sends events to users, and asks their connections whether they have received them. The origin of this loop's asks.
 */
export class LiveAsks {
  private readonly options: LiveAsksOptions;
  private readonly attempts = new Map<number, Attempt>();
  private numbers = 0;

  constructor(options: LiveAsksOptions) {
    this.options = options;
  }

  /** Sends an event. Settles when all connections have answered, or on timeout. Never rejects. */
  async ask(app: App | undefined, event: LiveEvent): Promise<LiveAnswer> {
    const { hub, timers } = this.options;
    if (app === undefined || !app.enabled) return { skipped: 'app-disabled' };
    const targets = targetsOf(event);
    const isSent = event.isSent === true;
    if (!isSent && !hub.usage.take(app, targets.length)) return { skipped: 'over-quota' };
    const { promise, resolve } = Promise.withResolvers<void>();
    const named = event.userIds === 'signed-in' ? [] : event.userIds;
    const users = event.userIds === 'signed-in' ? NAMED_BY_LOOP_MAX : named.length;
    const perUser = Math.floor(CONNECTIONS_MAX / Math.max(1, users));
    const group: Group = {
      users: new Map(named.map((userId) => [userId, unknownUser()])),
      attempts: [],
      startedAtMs: timers.now(),
      waitMs: event.waitMs,
      connectionsMax: Math.max(1, Math.min(CONNECTIONS_OF_USER_MAX, perUser)),
      open: named.length,
      // Their loops will name them.
      isGrowing: event.userIds === 'signed-in',
      failures: 0,
      end: resolve,
    };
    const withChannel = new Set(targets.flatMap(({ userIds }) => userIds));
    for (const userId of group.users.keys()) {
      if (!withChannel.has(userId)) this.decide(group, userId, 'absent');
    }
    const cancel = timers.after(event.waitMs, resolve);
    this.sendSome({ app, event, group, targets, from: 0 });
    await promise;
    cancel();
    const silent = this.forget(group);
    const isAway = targets.length > 0 && group.failures === targets.length;
    return isAway ? { skipped: 'engine-away' } : { users: usersOf(group, silent) };
  }

  /** Handles a report of a loop. Reports of finished asks are ignored. */
  take(report: AskReport): void {
    const attempt = this.attempts.get(report.attempt);
    if (attempt === undefined) return;
    const { group } = attempt;
    if (report.what === 'answered') {
      const known = this.known(attempt, report.userId);
      if (known?.state !== 'open') return;
      known.answeredAfterMs = this.options.timers.now() - group.startedAtMs;
      this.decide(group, report.userId, 'reached');
      return;
    }
    for (const [userId, connections] of report.connections) {
      const known = this.known(attempt, userId);
      if (known !== undefined) known.connections += connections;
    }
    const { others, moreOthers = [] } = report;
    for (const { loop, connections: left } of others === undefined ? [] : [others, ...moreOthers]) {
      for (const [userId, connections] of left) attempt.others.push({ loop, userId, connections });
    }
    attempt.reports++;
    this.check(attempt);
  }

  /** The state of a user named by a loop; `undefined`: the user was not asked for. */
  private known({ group, userIds }: Attempt, userId: string): Known | undefined {
    const known = group.users.get(userId);
    if (userIds !== 'signed-in' || known !== undefined) return known;
    if (group.users.size >= NAMED_USERS_MAX) return undefined;
    const added = unknownUser();
    group.users.set(userId, added);
    group.open++;
    return added;
  }

  /** One slice per turn, so that a thousand users do not delay the loop. */
  private sendSome(sending: {
    readonly app: App;
    readonly event: LiveEvent;
    readonly group: Group;
    readonly targets: readonly Target[];
    readonly from: number;
  }): void {
    const { app, event, group, targets, from } = sending;
    const until = from + USERS_AT_ONCE;
    const { waitMs, connectionsMax } = group;
    const atOnce = Math.min(AT_ONCE, connectionsMax);
    for (const { channel, userIds } of targets.slice(from, until)) {
      const number = ++this.numbers;
      const attempt: Attempt = {
        ...{ number, group, userIds, appId: app.id, channel: channel.text },
        ...{ loops: undefined, reports: 0, others: [] },
      };
      this.attempts.set(number, attempt);
      group.attempts.push(number);
      const { origin } = this.options;
      const alone = event.isSent === true ? { isAlone: true as const } : {};
      const limits = { connectionsMax, atOnce };
      const ask: Ask = { attempt: number, origin, waitMs, ...limits, userIds, ...alone };
      this.send({ app, event, channel, attempt, ask });
    }
    if (until >= targets.length) return;
    this.options.timers.after(0, () => this.sendSome({ ...sending, from: until }));
  }

  private send({
    app,
    event: { name, data },
    channel,
    attempt,
    ask,
  }: {
    readonly app: App;
    readonly event: LiveEvent;
    readonly channel: ChannelName;
    readonly attempt: Attempt;
    readonly ask: Ask;
  }): void {
    const sentTo = (loops: number) => {
      attempt.loops = loops;
      this.check(attempt);
    };
    const { hub } = this.options;
    const event = { app, channel, name, data, except: undefined, ask, sentTo };
    void recover(
      () => (ask.isAlone === true ? sendAlone(hub, event) : publish(hub, event)),
      () => {
        const { group, userIds } = attempt;
        group.failures++;
        for (const userId of userIds === 'signed-in' ? group.users.keys() : userIds) {
          this.decide(group, userId, 'silent');
        }
        this.grown(group);
        return undefined;
      },
    );
  }

  /** Every loop has named its users, or never will. */
  private grown(group: Group): void {
    if (!group.isGrowing) return;
    group.isGrowing = false;
    if (group.open === 0) group.end();
  }

  /** Decides who is absent, once all loops have reported, and has more connections asked of those who have not answered. */
  private check(attempt: Attempt): void {
    const { group, loops, reports, userIds } = attempt;
    if (loops === undefined || reports < loops) return;
    this.grown(group);
    this.askMore(attempt);
    for (const userId of userIds === 'signed-in' ? [] : userIds) {
      if (group.users.get(userId)?.connections === 0) this.decide(group, userId, 'absent');
    }
  }

  /** Divides the connections that may still be asked of each user equally among the loops that have some. */
  private askMore({ number, group, appId, channel, others }: Attempt): void {
    const byLoop = new Map<string, [userId: string, connections: number][]>();
    for (const [userId, ofUser] of Map.groupBy(others.splice(0), (one) => one.userId)) {
      const known = group.users.get(userId);
      if (known?.state !== 'open') continue;
      let loopsLeft = ofUser.length;
      for (const { loop, connections } of ofUser.sort((a, b) => a.connections - b.connections)) {
        const left = group.connectionsMax - known.connections;
        const share = Math.min(connections, Math.ceil(left / loopsLeft--));
        if (share <= 0) break;
        known.connections += share;
        byLoop.getOrInsertComputed(loop, () => []).push([userId, share]);
      }
    }
    const { origin, send, timers } = this.options;
    const waitMs = Math.ceil(group.startedAtMs + group.waitMs - timers.now());
    for (const [loop, connections] of byLoop) {
      send(loop, { what: 'more', attempt: number, origin, waitMs, appId, channel, connections });
    }
  }

  private decide(group: Group, userId: string, state: 'reached' | 'absent' | 'silent'): void {
    const known = group.users.get(userId);
    if (known?.state !== 'open') return;
    known.state = state;
    group.open--;
    if (group.open === 0 && !group.isGrowing) group.end();
  }

  /** Ends the asks of a group. Returns the users whose result is unknown because not all loops have reported. */
  private forget(group: Group): ReadonlySet<string> {
    const unsure = new Set<string>();
    for (const number of group.attempts) {
      const attempt = this.attempts.get(number);
      if (attempt === undefined) continue;
      const isSure = attempt.loops !== undefined && attempt.reports >= attempt.loops;
      const users = attempt.userIds === 'signed-in' ? [] : attempt.userIds;
      for (const userId of isSure ? [] : users) unsure.add(userId);
      this.attempts.delete(number);
    }
    return unsure;
  }
}

/** Asks about an event that was sent before. Messages of a channel arrive in order. */
function sendAlone(
  hub: LiveAsksOptions['hub'],
  { app, channel, ask: question, sentTo }: ChannelEvent,
): MaybePromise<EventId | undefined> {
  const publication = {
    app,
    channel: channel.text,
    makeFrame: () => '{}',
    remember: undefined,
    ask: question,
    sentTo,
  };
  return ask('publish', () => hub.authority.publish(publication));
}

interface Target {
  readonly channel: ChannelName;
  readonly userIds: AskedUsers;
}

/** The channels of an event. A user whose id cannot be part of a channel name cannot sign in, and has no channel. */
function targetsOf({ channel, userIds }: LiveEvent): readonly Target[] {
  if (channel !== undefined) {
    const parsed = parseChannelName(channel);
    return parsed.ok ? [{ channel: parsed.channel, userIds }] : [];
  }
  if (userIds === 'signed-in') return [];
  return userIds.flatMap((userId) => {
    const parsed = parseChannelName(userChannel(userId));
    return parsed.ok ? [{ channel: parsed.channel, userIds: [userId] }] : [];
  });
}

function usersOf({ users }: Group, unsure: ReadonlySet<string>): readonly LiveUser[] {
  return Array.from(users, ([userId, { connections, state, answeredAfterMs }]) => {
    const unanswered = connections > 0 || unsure.has(userId) ? 'silent' : 'absent';
    return {
      userId,
      state: state === 'open' ? unanswered : state,
      // An answer may overtake its loop's report.
      connections: state === 'reached' ? Math.max(1, connections) : connections,
      answeredAfterMs,
    };
  });
}
