import type { Timers } from '../../runtime/ports.ts';
import type { App } from '../app.ts';
import type { ChannelName } from '../channel-name.ts';
import { type Topic, topicOf } from '../event.ts';
import type { Broadcast, Member } from '../ports.ts';
import type { SocketId } from '../socket-id.ts';
import { memberAdded, memberRemoved } from '../wire.ts';
import { ChangeLimiter } from './change-limiter.ts';

const WINDOW_MS = 1000;

/** A departure that is not reported yet. */
interface Departure {
  /** As the other members know the user. */
  readonly member: Member;
  /** The user, if it has returned with another info meanwhile. */
  returned: Member | undefined;
}

/**
 * Sends `member_added` and `member_removed` to the members of presence channels.
 *
 * Each change reaches every member, so the changes of one user are limited to `limits.memberChangesPerSecond`: above it,
 * departures are reported later, and not at all if the user has returned by then. Until then the user still counts as a
 * member for everybody, newcomers included. So `member_added` and `member_removed` alternate for each receiver, and all
 * receivers know the same members.
 */
export class MemberChanges {
  private readonly send: (broadcast: Broadcast) => void;
  /** By topic and user. */
  private readonly limiter: ChangeLimiter<string>;
  /** By user. */
  private readonly departures = new Map<Topic, Map<string, Departure>>();

  constructor(timers: Timers, send: (broadcast: Broadcast) => void) {
    this.send = send;
    this.limiter = new ChangeLimiter(timers, WINDOW_MS);
  }

  /** A user joined with a first connection. That connection does not get the event, if it is known. */
  added(app: App, channel: ChannelName, member: Member, newcomer: SocketId | undefined): void {
    const topic = topicOf(app, channel);
    const departure = this.departures.get(topic)?.get(member.userId);
    if (departure === undefined) return this.sendAdded(app, channel, member, newcomer);
    if (departure.member.userInfo === member.userInfo) {
      this.limiter.cancel(keyOf(topic, member.userId));
      this.end(topic, member.userId);
    } else {
      departure.returned = member;
    }
  }

  /** A user's last connection left. */
  removed(app: App, channel: ChannelName, member: Member): void {
    const { userId } = member;
    const topic = topicOf(app, channel);
    const known = this.departures.get(topic)?.get(userId);
    if (known !== undefined) {
      known.returned = undefined;
      return;
    }
    const { memberChangesPerSecond: limit } = app.limits;
    if (limit === 0) return this.sendRemoved(app, channel, userId);
    const departure: Departure = { member, returned: undefined };
    this.begin(topic, departure);
    this.limiter.changed(keyOf(topic, userId), limit, () => {
      this.end(topic, userId);
      this.sendRemoved(app, channel, userId);
      if (departure.returned !== undefined) this.sendAdded(app, channel, departure.returned);
    });
  }

  /**
   * Returns the members of a channel as its subscribers know them, for a newcomer who is one of `members` or no member: with
   * those whose departure is not reported yet.
   */
  known(
    app: App,
    channel: ChannelName,
    members: readonly Member[],
    newcomer: Member | undefined,
  ): readonly Member[] {
    const departures = this.departures.get(topicOf(app, channel));
    if (departures === undefined) return members;
    const isKnown = ({ userId }: Member) => userId === newcomer?.userId || !departures.has(userId);
    const departed = Array.from(departures.values(), ({ member }) => member);
    return [
      ...departed.filter(({ userId }) => userId !== newcomer?.userId),
      ...members.filter(isKnown),
    ];
  }

  /** No subscribers are left who know the members of a channel. */
  forget(app: App, channel: ChannelName): void {
    const topic = topicOf(app, channel);
    for (const userId of this.departures.get(topic)?.keys() ?? []) {
      this.limiter.cancel(keyOf(topic, userId));
    }
    this.departures.delete(topic);
  }

  private sendAdded(app: App, channel: ChannelName, member: Member, except?: SocketId): void {
    if (app.limits.memberChangesPerSecond > 0) {
      this.limiter.count(keyOf(topicOf(app, channel), member.userId));
    }
    const makeFrame = () => memberAdded(channel.text, member);
    this.send({ app, channel: channel.text, cause: 'clients', makeFrame, except });
  }

  private sendRemoved(app: App, channel: ChannelName, userId: string): void {
    const makeFrame = () => memberRemoved(channel.text, userId);
    this.send({ app, channel: channel.text, cause: 'clients', makeFrame });
  }

  private begin(topic: Topic, departure: Departure): void {
    const departures = this.departures.getOrInsertComputed(topic, () => new Map());
    departures.set(departure.member.userId, departure);
  }

  private end(topic: Topic, userId: string): void {
    const departures = this.departures.get(topic);
    departures?.delete(userId);
    if (departures?.size === 0) this.departures.delete(topic);
  }
}

function keyOf(topic: Topic, userId: string): string {
  return `${topic}\n${userId}`;
}
