import type { App } from '../../channels/app.ts';
import type { ChannelName, ChannelText } from '../../channels/channel-name.ts';
import type {
  ChannelCounts,
  ChannelPage,
  ChannelQuery,
  ChannelWalk,
  Member,
  Roster,
  Transition,
} from '../../channels/ports.ts';

interface Presence {
  readonly member: Member;
  connections: number;
}

interface Occupancy {
  /** Increases with each channel that becomes occupied; its position in lists. */
  readonly number: number;
  subscriptions: number;
  /** By user id, in the order of joining; presence channels only. */
  users: Map<string, Presence> | undefined;
}

/** Channels that are examined for one page, so that no page blocks the loop. */
const EXAMINED_MAX = 5_000;

const NO_COUNTS: ChannelCounts = { subscriptions: 0, users: 0 };

type Entry = readonly [name: ChannelText, occupancy: Occupancy];

/** Walks in the order of the channels' numbers: a map keeps the order of insertion, also if it changes between two pages. */
class MemoryWalk implements ChannelWalk {
  private readonly entries: Iterator<Entry>;
  private readonly prefix: string;
  /** The number of the last channel that was examined. */
  private last: number;
  /** The next channel; it is on no page yet. */
  private ahead: Entry | undefined;

  constructor(channels: ReadonlyMap<ChannelText, Occupancy>, { prefix, after }: ChannelQuery) {
    this.entries = channels.entries();
    this.prefix = prefix;
    this.last = after === undefined ? 0 : Number(after);
    // Skipping to a position takes about a millisecond for each 100,000 channels.
    do this.ahead = this.take();
    while (this.ahead !== undefined && this.ahead[1].number <= this.last);
  }

  page(limit: number): ChannelPage {
    const channels: (readonly [ChannelText, ChannelCounts])[] = [];
    for (let examined = 0; this.ahead !== undefined; examined++) {
      const [name, occupancy] = this.ahead;
      const fits = name.startsWith(this.prefix);
      if (examined === EXAMINED_MAX || (fits && channels.length === limit)) {
        return { channels, next: String(this.last) };
      }
      // It may have been vacated since the previous page.
      if (fits && occupancy.subscriptions > 0) channels.push([name, countsOf(occupancy)]);
      this.last = occupancy.number;
      this.ahead = this.take();
    }
    return { channels, next: undefined };
  }

  private take(): Entry | undefined {
    const { done, value } = this.entries.next();
    return done === true ? undefined : value;
  }
}

/** The roster of a single node, in memory. A join or leave takes constant time. */
export class MemoryRoster implements Roster {
  private readonly apps = new Map<string, Map<ChannelText, Occupancy>>();
  private numbered = 0;

  join(app: App, channel: ChannelName, member: Member | undefined): Transition | 'full' {
    let channels = this.apps.get(app.id);
    let occupancy = channels?.get(channel.text);
    const memberAdded = member !== undefined && !occupancy?.users?.has(member.userId);
    const membersMax = app.limits.presenceMembers;
    if (memberAdded && membersMax > 0 && (occupancy?.users?.size ?? 0) >= membersMax) return 'full';

    if (channels === undefined) {
      channels = new Map();
      this.apps.set(app.id, channels);
    }
    if (occupancy === undefined) {
      this.numbered++;
      occupancy = { number: this.numbered, subscriptions: 0, users: undefined };
      channels.set(channel.text, occupancy);
    }
    occupancy.subscriptions++;
    if (member !== undefined) {
      occupancy.users ??= new Map();
      const presence = occupancy.users.get(member.userId);
      if (presence === undefined) occupancy.users.set(member.userId, { member, connections: 1 });
      else presence.connections++;
    }
    return {
      occupied: occupancy.subscriptions === 1,
      vacated: false,
      memberAdded,
      memberRemoved: false,
      counts: countsOf(occupancy),
    };
  }

  leave(app: App, channel: ChannelName, member: Member | undefined): Transition {
    const channels = this.apps.get(app.id);
    const occupancy = channels?.get(channel.text);
    if (channels === undefined || occupancy === undefined) {
      throw new Error(`${channel.text} has no subscriptions to leave`);
    }
    occupancy.subscriptions--;
    const presence = member === undefined ? undefined : occupancy.users?.get(member.userId);
    if (presence !== undefined) presence.connections--;
    const memberRemoved = presence?.connections === 0;
    if (memberRemoved) occupancy.users?.delete(presence.member.userId);

    const vacated = occupancy.subscriptions === 0;
    if (vacated) channels.delete(channel.text);
    if (channels.size === 0) this.apps.delete(app.id);
    return {
      occupied: false,
      vacated,
      memberAdded: false,
      memberRemoved,
      counts: countsOf(occupancy),
    };
  }

  members(app: App, channel: ChannelName): readonly Member[] {
    const users = this.occupancy(app, channel)?.users;
    return users === undefined ? [] : Array.from(users.values(), ({ member }) => member);
  }

  counts(app: App, channel: ChannelName): ChannelCounts {
    const occupancy = this.occupancy(app, channel);
    return occupancy === undefined ? NO_COUNTS : countsOf(occupancy);
  }

  channels(app: App, query: ChannelQuery): MemoryWalk {
    return new MemoryWalk(this.apps.get(app.id) ?? new Map(), query);
  }

  channelCountOf(app: App): number {
    return this.apps.get(app.id)?.size ?? 0;
  }

  /** Returns the number of occupied channels of all apps. */
  channelCount(): number {
    let count = 0;
    for (const channels of this.apps.values()) count += channels.size;
    return count;
  }

  private occupancy(app: App, channel: ChannelName): Occupancy | undefined {
    return this.apps.get(app.id)?.get(channel.text);
  }
}

function countsOf(occupancy: Occupancy): ChannelCounts {
  return { subscriptions: occupancy.subscriptions, users: occupancy.users?.size ?? 0 };
}
