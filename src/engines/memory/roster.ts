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
  /** Grows with each channel that becomes occupied: the place in the list. */
  readonly number: number;
  subscriptions: number;
  /** By user id, in the order in which they joined; only presence channels have one. */
  users: Map<string, Presence> | undefined;
}

/** Channels that are looked at for one page, so that no page holds up the loop. */
const EXAMINED_MAX = 5_000;

const NOBODY: ChannelCounts = { subscriptions: 0, users: 0 };

type Entry = readonly [name: ChannelText, occupancy: Occupancy];

/** In the order of their numbers: a map keeps the order in which its keys came. They may come and go between two pages. */
class MemoryWalk implements ChannelWalk {
  private readonly entries: Iterator<Entry>;
  private readonly prefix: string;
  /** The number of the last channel that was looked at. */
  private last: number;
  /** Looked at, but on no page yet. */
  private ahead: Entry | undefined;

  constructor(channels: ReadonlyMap<ChannelText, Occupancy>, { prefix, after }: ChannelQuery) {
    this.entries = channels.entries();
    this.prefix = prefix;
    this.last = after === undefined ? 0 : Number(after);
    // Whoever goes on in a new walk pays for the way there: a moment for each 100,000 channels.
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
      // It may have been vacated since it was looked at.
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

/** The roster of a server that runs alone. Answers at once; a join or leave costs the same in any channel. */
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
      throw new Error(`Nobody is in ${channel.text}, so nobody can leave it`);
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
    return occupancy === undefined ? NOBODY : countsOf(occupancy);
  }

  channels(app: App, query: ChannelQuery): MemoryWalk {
    return new MemoryWalk(this.apps.get(app.id) ?? new Map(), query);
  }

  channelCountOf(app: App): number {
    return this.apps.get(app.id)?.size ?? 0;
  }

  /** The occupied channels of all apps. */
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
