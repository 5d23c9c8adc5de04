import { broadcast } from '../../../channels/broadcast.ts';
import type { ChannelName } from '../../../channels/channel-name.ts';
import { topicOf } from '../../../channels/event.ts';
import type { LostEvents } from '../../../channels/lost-events.ts';
import type { Entered, Entry, Exit, Member } from '../../../channels/ports.ts';
import { type LargeRule, largeRuleOf, membersMaxOf } from '../../../channels/presence-rule.ts';
import type { SocketId } from '../../../channels/socket-id.ts';
import type { Tap } from '../../../channels/watching/tap.ts';
import { subscriptionCount } from '../../../channels/wire.ts';
import { withNewcomer } from '../../members-page.ts';
import { countForgotten } from '../history/count-forgotten.ts';
import { historyToRead, readFound } from '../history/found-history.ts';
import { type Reply, textsOf } from '../link/reply.ts';
import type { RestateReason } from '../restatements.ts';
import { ROSTER } from '../scripts/queries.ts';
import { STATE } from '../scripts/statements.ts';
import { readCached } from './cached-event.ts';
import { channelFlags, hasCounts, hasWebhooks, largeText, readLarge } from './channel-flags.ts';
import { Roster } from './roster.ts';
import { type Gap, Sequence } from './sequence.ts';
import { StatedTopic, type StatedTopicOptions } from './stated-topic.ts';
import {
  type ChannelMessage,
  type NumberedText,
  readChannelMessage,
  readNumbered,
  readRoster,
  userIdText,
} from './stream-message.ts';
import { recordTransition } from './transitions.ts';

/** A user whom this loop holds in a presence channel. */
interface LocalUser {
  info: string;
  /** Whether the authority has admitted the user. */
  isIn: boolean;
  /** Joins without an answer. */
  joining: number;
}

/** `info` of `-`: for how many milliseconds the member stays, or nothing. */
type MemberStatement = readonly ['+' | '-', userId: string, info: string];

interface Statement {
  readonly members: readonly MemberStatement[];
  /** See `STATE`. */
  readonly mode?: string;
  readonly membersMax?: number;
  readonly newcomer?: string;
  /** What the newcomer wants from the history. */
  readonly history?: string;
}

/** The limit of members in one statement, so that no script runs for long. */
const MEMBERS_MAX = 50;

/** A channel with connections of this loop: what the loop holds, and what its clients were sent. */
export class RedisChannel extends StatedTopic {
  /** Subscriptions of this loop, including those that are joining. */
  held = 0;
  /** Whether the authority has answered that it knows of a subscription of this loop. */
  private isKnown = false;
  /** Whether messages of the open gap may have been lost in transit. */
  private wasCut = false;
  /** Whether a connection of this loop can resume. */
  mayResume = false;
  private readonly channel: ChannelName;
  private readonly users = new Map<string, LocalUser>();
  /** Users whose last statement may not have arrived, and until when each stays that has left: 0 if it does not. */
  private readonly unsureUsers = new Map<string, number>();
  private sequence = this.newSequence();
  /** Whether a connection of this loop has entered since `forget`, so that it is known whether the channel is large. */
  private hasEntered = false;
  /** A channel stays what it was when it became occupied. */
  private large: LargeRule | undefined;
  /** The members that this loop's clients know of; only for presence channels with subscribers that are not large. */
  private roster: Roster | undefined;
  private isReading = false;
  private mustRead = false;

  constructor(channel: ChannelName, options: StatedTopicOptions) {
    super(topicOf(options.app, channel), options);
    this.channel = channel;
  }

  /** Whether nothing is held, and the authority knows that. */
  get isIdle(): boolean {
    return this.held === 0 && this.unsureUsers.size === 0 && this.isStated;
  }

  receive(numbered: NumberedText): void {
    this.sequence.receive(numbered.number, readChannelMessage(numbered));
  }

  /**
   * Counts a connection that wants to enter. The caller must then call `enter`, or `failed` if Redis never answers.
   */
  begin({ held, member, history }: Entry): void {
    this.held = held;
    if (history?.place !== undefined) this.mayResume = true;
    if (member === undefined) return;
    const user = this.users.get(member.userId) ?? { info: '', isIn: false, joining: 0 };
    if (!user.isIn && user.joining === 0) user.info = member.userInfo ?? '';
    user.joining++;
    this.users.set(member.userId, user);
  }

  /** Asks the authority to admit a connection; see `Authority.join`. Settles once it has entered. */
  async enter(entry: Entry, entered: (entered: Entered) => void): Promise<boolean> {
    const { app, member, newcomer } = entry;
    const place = this.sequence.begin();
    const { sequence } = this;
    let answer: readonly Reply[];
    try {
      answer = await this.state({
        members: member === undefined ? [] : [['+', member.userId, member.userInfo ?? '']],
        mode: this.channel.kind === 'presence' && this.roster === undefined ? 'r' : '',
        membersMax: membersMaxOf(app, this.channel.text),
        newcomer: newcomer.socketId,
        history: historyToRead(entry),
      });
    } catch (error) {
      sequence.drop(place);
      throw error;
    }
    if (answer[0] === 'full') {
      sequence.drop(place);
      this.settleUser(entry, false);
      return false;
    }
    this.settleUser(entry, true);
    const [, number] = answer;
    // Read now: what fails later, at its place among the messages, would leave the connection without an answer.
    const cached = readCached(answer[4]);
    const roster = readRoster(answer[5]);
    const history = readFound(answer[7]);
    const [largeNow = '', users] = textsOf(answer[10]);
    await new Promise<void>((resolve) => {
      sequence.answer(place, Number(number), () => {
        if (!this.hasEntered) this.large = readLarge(largeNow);
        this.hasEntered = true;
        const found = this.foundBy(member, newcomer.socketId, { roster, users });
        entered(history === undefined ? { ...found, cached } : { ...found, cached, history });
        resolve();
      });
    });
    return true;
  }

  /** The members that a newcomer learns of. */
  private foundBy(
    member: Member | undefined,
    socketId: SocketId,
    { roster, users }: { readonly roster: Map<string, Member>; readonly users: string | undefined },
  ): Pick<Entered, 'members' | 'users'> {
    if (this.channel.kind !== 'presence') return { members: [] };
    if (this.large !== undefined) {
      return { members: withNewcomer([...roster.values()], member), users: Number(users) };
    }
    this.roster ??= this.newRoster(roster);
    return { members: this.roster.listFor(member, socketId) };
  }

  /**
   * Removes a connection that has not entered. Redis may have applied its statement, so the channel is stated again.
   */
  failed(entry: Entry): void {
    this.held--;
    this.settleUser(entry, false);
    if (entry.member !== undefined) this.unsureUsers.set(entry.member.userId, 0);
    this.partition.unsure.add(this);
    if (this.held === 0) this.forget();
  }

  /**
   * States what this loop holds after a connection has left. Never fails: if stating is impossible now, a later tick
   * does it.
   */
  async leave({ held, userId, graceSeconds = 0 }: Exit): Promise<void> {
    this.held = held;
    const graceMs = 1000 * graceSeconds;
    if (userId !== undefined) {
      this.users.delete(userId);
      this.roster?.left(userId);
      this.unsureUsers.set(userId, graceMs === 0 ? 0 : this.partition.nowMs + graceMs);
    }
    if (this.hasWebhooks) {
      const { own } = this.partition;
      if (userId !== undefined) own.note(this.nameOf('r', userId), graceMs);
      if (held === 0) own.note(this.nameOf('v'), graceMs);
    }
    if (held === 0) this.forget();
    await this.stateSoon(() => this.stateAgain('unsure'));
  }

  protected async stateAgain(reason: RestateReason): Promise<void> {
    if (reason === 'unsure') {
      await this.stateUnsure();
      if (this.mustRead) await this.read();
      return;
    }
    // The authority has forgotten everything about this loop, so there are no members to remove.
    this.unsureUsers.clear();
    if (this.held === 0) return;
    // After an interruption, the clock of another server may yield lower numbers. Otherwise, messages are in flight
    // that must be delivered once.
    if (reason === 'lost' && this.gap !== undefined) this.sequence.reset();
    else this.sequence.cut();
    const { sequence } = this;
    const place = sequence.begin();
    try {
      const statements = this.restatements(reason === 'lost');
      const last = statements.pop();
      for (const statement of statements) await this.state(statement, true);
      const mode = `${last?.mode ?? ''}${this.hasRoster ? 'r' : ''}`;
      const answer = await this.state({ members: [], ...last, mode }, true);
      this.takeRoster(sequence, place, { number: answer[1], roster: answer[5] });
    } catch (error) {
      sequence.drop(place);
      throw error;
    }
  }

  complete(): void {
    this.reread();
  }

  /** What is reported when events of the channel, or its history, are lost. */
  lostEvents(affects: LostEvents['affects']): LostEvents {
    return { app: this.app, channel: this.channel.text, affects };
  }

  /**
   * Messages were missed. Holds new ones until `fill`, reads the members or the count, and sends clients the changes.
   */
  missed(): void {
    this.wasCut = true;
    this.sequence.cut();
    this.reread();
  }

  /** The gap in the messages; `undefined` if there is none. */
  get gap(): Gap | undefined {
    return this.held > 0 ? this.sequence.gap : undefined;
  }

  /** Whether the gap may include events that can no longer be read. */
  get mayMiss(): boolean {
    return this.wasCut;
  }

  /** Receives all events up to a number. Some may have been delivered already. */
  fill(
    gap: Gap,
    { events, upTo }: { readonly events: readonly string[]; readonly upTo: number },
  ): void {
    const missed = events.flatMap((event) => {
      try {
        const numbered = readNumbered(event);
        return [{ number: numbered.number, message: readChannelMessage(numbered) }];
      } catch (error) {
        this.loop.unreadable.drop('topic', this.stream, error);
        return [];
      }
    });
    this.wasCut = false;
    this.sequence.fill(gap, { missed, upTo });
  }

  private reread(): void {
    if (this.held === 0 || !(this.channel.kind === 'presence' || this.hasCounts)) return;
    this.mustRead = true;
    if (this.isReading) return;
    if (!this.partition.isReady) this.partition.unsure.add(this);
    else this.read().catch(() => this.partition.unsure.add(this));
  }

  /** Reads the members and the count, and sends subscribers the changes that they missed. */
  private async read(): Promise<void> {
    this.isReading = true;
    this.mustRead = false;
    const { sequence } = this;
    const place = sequence.begin();
    try {
      const [number, roster, total, users] = await this.partition.call(ROSTER, [this.topic]);
      this.takeRoster(sequence, place, { number, roster, total, users });
    } catch (error) {
      sequence.drop(place);
      this.mustRead = true;
      throw error;
    } finally {
      this.isReading = false;
    }
    if (this.mustRead) await this.read();
  }

  /** Forgets the stream: no client of this loop is in the channel any more. */
  private forget(): void {
    this.sequence = this.newSequence();
    this.roster = undefined;
    this.large = undefined;
    this.hasEntered = false;
    this.loop.memberBatches.forget(this.app, this.channel);
    this.mustRead = false;
    this.mayResume = false;
  }

  private newRoster(members: ReadonlyMap<string, Member>): Roster {
    const { app, channel, loop } = this;
    const options = { app, channel: channel.text, broadcaster: loop.broadcaster };
    return new Roster(members, options);
  }

  private newSequence(): Sequence<ChannelMessage> {
    return new Sequence<ChannelMessage>({
      deliver: (message, isLate) => this.deliver(message, isLate),
      missing: () => this.loop.eventsLost([this.lostEvents('all')]),
      missed: () => {
        this.loop.meter.count('engineGaps');
        this.reread();
      },
    });
  }

  private settleUser({ member }: Entry, isIn: boolean): void {
    const user = member === undefined ? undefined : this.users.get(member.userId);
    if (member === undefined || user === undefined) return;
    user.joining--;
    if (isIn) user.isIn = true;
    else if (!user.isIn && user.joining === 0) this.users.delete(member.userId);
  }

  /** All that this loop holds, as Redis has lost it or must learn it anew. */
  private restatements(isLost: boolean): Statement[] {
    const { own } = this.partition;
    const members = [...this.users]
      .filter(([, { isIn }]) => isIn)
      .map(([userId, { info }]) => ['+', userId, info] as const);
    // What Redis was told shortly before, and what nobody was handed yet, is reported now.
    const isKnown = isLost && this.isKnown && !own.has(this.nameOf('o'));
    const [known = [], others = []] = [true, false].map((wanted) =>
      members.filter(([, userId]) => (isKnown && !own.has(this.nameOf('a', userId))) === wanted),
    );
    const again = `a${this.partition.awayMs}`;
    const first = isKnown && known.length === 0 ? [{ members: [], mode: again }] : [];
    return [...first, ...inStatements(known, again), ...inStatements(others, '')];
  }

  /** States what the authority may not know. */
  private async stateUnsure(): Promise<void> {
    const unsure = [...this.unsureUsers].slice(0, MEMBERS_MAX);
    const members: MemberStatement[] = [];
    for (const [userId, staysUntilMs] of unsure) {
      const user = this.users.get(userId);
      const staysMs = Math.round(staysUntilMs - this.partition.nowMs);
      if (user === undefined) members.push(['-', userId, staysMs > 0 ? `${staysMs}` : '']);
      // Members that are still joining are stated by their join, which may find the channel full.
      else if (user.isIn) members.push(['+', userId, user.info]);
    }
    for (const [userId] of unsure) this.unsureUsers.delete(userId);
    // The last subscription goes after the last member, who would otherwise not be reported as removed.
    const mode = this.unsureUsers.size > 0 ? 'k' : '';
    try {
      await this.state({ members, mode });
    } catch (error) {
      for (const [userId, staysUntilMs] of unsure) {
        // It may have been set anew in the meantime.
        if (!this.unsureUsers.has(userId)) this.unsureUsers.set(userId, staysUntilMs);
      }
      throw error;
    }
    if (this.unsureUsers.size > 0) await this.stateUnsure();
  }

  /** `isAgain`: this loop holds subscriptions, and nobody is new. Then several channels share a call. */
  private async state(statement: Statement, isAgain = false) {
    const { members: some, mode = '', membersMax = 0, newcomer = '', history = '' } = statement;
    const { topic, held, app, partition, hasWebhooks } = this;
    const members = some.flatMap(([sign, userId, info]) => [sign, userIdText(userId), info]);
    // The transitions are only needed for live streams of the app.
    const { webhooks } = this.loop;
    const rule = this.hasEntered ? this.large : largeRuleOf(app, this.channel.text);
    const flags = channelFlags(app, this.channel, { webhooks, large: largeText(rule) });
    const tapped = app.tap === undefined ? mode : `${mode}t`;
    partition.outbox.sendBefore(partition, app.id);
    const answer = isAgain
      ? await partition.restatements.state({ topic, held, flags, mode: tapped, members })
      : await partition.state(STATE, [
          ...[topic, held, flags, tapped, membersMax, newcomer, history],
          ...members,
        ]);
    if (app.tap !== undefined) this.record(app.tap, answer[6]);
    countForgotten(this.loop.meter, answer[8]);
    if (answer[0] === 'full') return answer;
    // With `k` the subscriptions stay as they were.
    if (!mode.includes('k')) this.isKnown = held > 0;
    if (hasWebhooks) this.stated(statement, held, answer[9]);
    return answer;
  }

  /** Asks later for the events of what was stated. `owed`: see `STATE`. */
  private stated({ members, mode = '' }: Statement, held: number, owed: Reply | undefined): void {
    const names = members.map(
      ([sign, userId]) => [this.nameOf('r', userId), sign === '-'] as const,
    );
    // With `k` the subscriptions stay as they were.
    if (!mode.includes('k')) names.push([this.nameOf('v'), held === 0]);
    this.partition.stated(names, owed);
  }

  /** The name of a change in `OwnChanges`. */
  private nameOf(kind: 'a' | 'r' | 'o' | 'v', userId?: string): string {
    const { topic } = this;
    return userId === undefined ? `${kind}${topic}` : `${kind}${topic}\n${userIdText(userId)}`;
  }

  /** Shows the transitions of a statement in the live streams of the app. */
  private record(tap: Tap, transitions: Reply | undefined): void {
    if (this.channel.kind === 'server-to-user') return;
    for (const transition of textsOf(transitions)) {
      recordTransition(tap, this.channel.text, transition);
    }
  }

  /** Whether subscribers get subscription counts. */
  private get hasCounts(): boolean {
    return hasCounts(this.app, this.channel);
  }

  private get hasRoster(): boolean {
    return this.channel.kind === 'presence' && this.large === undefined;
  }

  private get hasWebhooks(): boolean {
    return hasWebhooks(this.app, this.channel);
  }

  private takeRoster(
    sequence: Sequence<ChannelMessage>,
    place: ReturnType<Sequence<ChannelMessage>['begin']>,
    {
      number,
      roster,
      total,
      users,
    }: { readonly [what in 'number' | 'roster' | 'total' | 'users']?: Reply | undefined },
  ): void {
    const members = readRoster(roster);
    sequence.answer(place, Number(number), () => {
      if (sequence !== this.sequence) return;
      // After a loss of data, some nodes may not have repeated their statements yet.
      const { isIncomplete } = this.partition;
      this.roster?.become(members, isIncomplete);
      if (total === undefined || isIncomplete) return;
      if (this.large !== undefined) this.sendCount(Number(total), Number(users));
      else if (this.hasCounts) this.sendCount(Number(total));
    });
  }

  private sendCount(count: number, users?: number): void {
    const channel = this.channel.text;
    this.app.tap?.record({ kind: 'count', channel, count });
    const makeFrame = () => subscriptionCount(channel, count, users);
    broadcast(this.loop.broadcaster, { app: this.app, channel, makeFrame });
  }

  private batch(
    message: Extract<ChannelMessage, { kind: 'added' | 'removed' }>,
    { named }: LargeRule,
  ): void {
    const { app, channel } = this;
    const { memberBatches } = this.loop;
    if (message.kind === 'added') memberBatches.added(app, channel, message.member, named);
    else memberBatches.removed(app, channel, message.userId, named);
  }

  private deliver(message: ChannelMessage, isLate: boolean): void {
    const { app } = this;
    const channel = this.channel.text;
    const { broadcaster } = this.loop;
    switch (message.kind) {
      case 'event': {
        const { frame, except, cause, trace, ask } = message;
        const makeFrame = () => frame;
        return broadcast(broadcaster, { app, channel, makeFrame, except, cause, trace, ask });
      }
      case 'count':
        return this.sendCount(message.count, message.users);
      case 'added':
        if (this.large !== undefined) return this.batch(message, this.large);
        // The members that were read later include this change.
        return isLate ? undefined : this.roster?.add(message.member, message.newcomer);
      case 'removed':
        if (this.large !== undefined) return this.batch(message, this.large);
        return isLate ? undefined : this.roster?.remove(message.userId);
      default:
        return message satisfies never;
    }
  }
}

function inStatements(members: readonly MemberStatement[], mode: string): readonly Statement[] {
  const statements: Statement[] = [];
  for (let n = 0; n < members.length; n += MEMBERS_MAX) {
    statements.push({ members: members.slice(n, n + MEMBERS_MAX), mode });
  }
  return statements;
}
