import type { App } from '../../channels/app.ts';
import type { ChannelName, ChannelText } from '../../channels/channel-name.ts';
import type {
  ChannelCounts,
  ChannelPage,
  ChannelQuery,
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

/** Pages of channels of which it is remembered where they ended. */
const WALKS_MAX = 32;

const NOBODY: ChannelCounts = { subscriptions: 0, users: 0 };

/** A walk through the channels of an app that may pause; they may come and go meanwhile. */
class Walk {
  private readonly entries: Iterator<[ChannelText, Occupancy]>;
  private first: [ChannelText, Occupancy] | undefined;

  constructor(channels: ReadonlyMap<ChannelText, Occupancy>) {
    this.entries = channels.entries();
  }

  next(): [ChannelText, Occupancy] | undefined {
    const { first } = this;
    if (first === undefined) {
      const { done, value } = this.entries.next();
      return done === true ? undefined : value;
    }
    this.first = undefined;
    // It may have been vacated meanwhile.
    return first[1].subscriptions > 0 ? first : this.next();
  }

  putBack(entry: [ChannelText, Occupancy]): void {
    this.first = entry;
  }
}

/** The roster of a server that runs alone. Answers at once; a join or leave costs the same in any channel. */
export class MemoryRoster implements Roster {
  private readonly apps = new Map<string, Map<ChannelText, Occupancy>>();
  private numbered = 0;
  /** Where recent pages of channels ended, by app and `next`: the page after each begins without searching for it. */
  private readonly walks = new Map<string, Walk>();

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

  channels(app: App, { prefix, after, limit }: ChannelQuery): ChannelPage {
    const found: (readonly [ChannelText, ChannelCounts])[] = [];
    const walk = this.takeWalk(app, after);
    const afterNumber = after === undefined ? 0 : Number(after);
    let examined = 0;
    let last = afterNumber;
    // In the order of their numbers: a map keeps the order in which its keys came.
    for (let entry = walk.next(); entry !== undefined; entry = walk.next()) {
      const [name, occupancy] = entry;
      if (occupancy.number <= afterNumber) continue;
      const fits = name.startsWith(prefix);
      if (examined === EXAMINED_MAX || (fits && found.length === limit)) {
        walk.putBack(entry);
        const next = String(last);
        this.keepWalk(app, next, walk);
        return { channels: found, next };
      }
      examined++;
      last = occupancy.number;
      if (fits) found.push([name, countsOf(occupancy)]);
    }
    return { channels: found, next: undefined };
  }

  private takeWalk(app: App, after: string | undefined): Walk {
    const key = `${app.id}/${after}`;
    const walk = this.walks.get(key);
    this.walks.delete(key);
    return walk ?? new Walk(this.apps.get(app.id) ?? new Map());
  }

  private keepWalk(app: App, next: string, walk: Walk): void {
    if (this.walks.size === WALKS_MAX) this.walks.clear();
    this.walks.set(`${app.id}/${next}`, walk);
  }

  /** How many occupied channels an app has. */
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
