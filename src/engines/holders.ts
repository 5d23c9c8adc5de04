import type { App } from '../channels/app.ts';
import type { ChannelText } from '../channels/channel-name.ts';
import type { Transition } from '../channels/lifecycle/transition.ts';
import type {
  ChannelCounts,
  ChannelPage,
  ChannelQuery,
  ChannelWalk,
  Member,
  MembersPage,
  MembersQuery,
} from '../channels/ports.ts';
import { type LargeRule, largeRuleOf, membersMaxOf } from '../channels/presence-rule.ts';
import { FirstMembers } from './first-members.ts';
import { membersPage, withNewcomer } from './members-page.ts';
import { type Loop, Shares } from './shares.ts';

interface Presence {
  /** The serial number of the member since it joined. */
  readonly number: number;
  member: Member;
  /** 1 for each loop that has connections of this user. */
  readonly loops: Shares;
  /** Whether the member stays for a while without connections. Then it counts as one subscription. */
  isStaying: boolean;
}

interface Occupancy {
  /** The serial number of the channel since it became occupied; its position in lists. */
  readonly number: number;
  readonly loops: Shares;
  /** What it was when it became occupied. */
  readonly large: LargeRule | undefined;
  /** Of a large channel. */
  first: FirstMembers<Presence> | undefined;
  /** The members that stay without connections. */
  staying: number;
  /** The sum of what the loops hold, and of those who stay. */
  subscriptions: number;
  /** By user id, in the order of joining; presence channels only. */
  users: Map<string, Presence> | undefined;
}

/** The limit of members of a large channel that are listed at once. */
const MEMBERS_MAX = 1000;

/** The limit of channels examined for one page, so that no page blocks the loop. */
const EXAMINED_MAX = 5_000;

const NO_USERS: ReadonlyMap<string, Presence> = new Map();
const NO_COUNTS: ChannelCounts = { subscriptions: 0, users: 0 };

/** The result of leaving a channel that nobody holds. */
const NOTHING_LEFT: Transition = {
  occupied: false,
  vacated: false,
  memberAdded: false,
  memberRemoved: false,
  counts: NO_COUNTS,
};

type Entry = readonly [name: ChannelText, occupancy: Occupancy];

/**
 * Walks in the order of the channels' serial numbers: a map keeps its insertion order, even if it changes between two
 * pages.
 */
export class HoldersWalk implements ChannelWalk {
  private readonly entries: Iterator<Entry>;
  private readonly prefix: string;
  /** The number of the last channel that was examined. */
  private last: number;
  /** The next channel, which is not on any page yet. */
  private ahead: Entry | undefined;

  constructor(channels: ReadonlyMap<ChannelText, Occupancy>, { prefix, after }: ChannelQuery) {
    this.entries = channels.entries();
    this.prefix = prefix;
    this.last = after === undefined ? 0 : Number(after);
    // Skipping to a position takes about 1 ms per 100,000 channels.
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

/** A loop's statement about one channel. */
export interface Statement {
  readonly channel: ChannelText;
  /** The subscriptions that the loop holds now. */
  readonly held: number;
}

/** What a loop states about a channel that one of its connections has left. */
interface Departure extends Statement {
  readonly userId: string | undefined;
  readonly stays?: boolean;
}

/**
 * Which loop holds which channels: the rules for who is first, who is last, when a channel is full, and in which
 * order. Each loop states what it holds. A transition is the difference to its previous statement, so repeating a
 * statement changes nothing. A statement takes constant time.
 *
 * A user's info is that of the first connection until the user has left.
 */
export class Holders {
  private readonly apps = new Map<string, Map<ChannelText, Occupancy>>();
  private numbered = 0;
  private numberedMembers = 0;

  /** A loop has one more subscription; of `member` if it is a presence channel. */
  join(
    app: App,
    loop: Loop,
    { channel, held, member }: Statement & { readonly member: Member | undefined },
  ): Transition | 'full' {
    let channels = this.apps.get(app.id);
    let occupancy = channels?.get(channel);
    const memberAdded = member !== undefined && !occupancy?.users?.has(member.userId);
    const membersMax = memberAdded ? membersMaxOf(app, channel) : 0;
    if (membersMax > 0 && (occupancy?.users?.size ?? 0) >= membersMax) return 'full';

    if (channels === undefined) {
      channels = new Map();
      this.apps.set(app.id, channels);
    }
    if (occupancy === undefined) {
      this.numbered++;
      const loops = new Shares();
      const number = this.numbered;
      const large = largeRuleOf(app, channel);
      occupancy = {
        number,
        loops,
        large,
        first: undefined,
        staying: 0,
        subscriptions: 0,
        users: undefined,
      };
      channels.set(channel, occupancy);
    }
    const before = occupancy.subscriptions;
    occupancy.loops.state(loop, held);
    let replaced: Member | undefined;
    if (member !== undefined) {
      occupancy.users ??= new Map();
      let presence = occupancy.users.get(member.userId);
      if (presence === undefined) {
        this.numberedMembers++;
        const number = this.numberedMembers;
        presence = { number, member, loops: new Shares(), isStaying: false };
        occupancy.users.set(member.userId, presence);
      }
      presence.loops.state(loop, 1);
      if (endStay(occupancy, presence) && presence.member.userInfo !== member.userInfo) {
        replaced = presence.member;
        presence.member = member;
      }
    }
    recount(occupancy);
    return {
      occupied: before === 0 && occupancy.subscriptions > 0,
      vacated: false,
      memberAdded,
      memberRemoved: false,
      counts: countsOf(occupancy),
      large: occupancy.large,
      replaced,
    };
  }

  /**
   * A loop has one subscription less. `userId` is given if it was the loop's last one of that member; with `stays`, a member
   * without connections on other loops stays until `endStay`.
   */
  leave(app: App, loop: Loop, left: Departure): Transition {
    const { channel, held, userId, stays } = left;
    const occupancy = this.occupancy(app, channel);
    if (occupancy === undefined) return NOTHING_LEFT;
    occupancy.loops.state(loop, held);
    const presence = userId === undefined ? undefined : occupancy.users?.get(userId);
    presence?.loops.state(loop, 0);
    if (stays === true && presence?.loops.total === 0 && !presence.isStaying) {
      presence.isStaying = true;
      occupancy.staying++;
    }
    return this.afterLeaving(app, channel, occupancy, presence);
  }

  /** Whether a member stays without connections. */
  isStaying(app: App, channel: ChannelText, userId: string): boolean {
    return this.occupancy(app, channel)?.users?.get(userId)?.isStaying === true;
  }

  /** The time is over of a member that has stayed without connections. */
  endStay(app: App, channel: ChannelText, userId: string): Transition {
    const occupancy = this.occupancy(app, channel);
    const presence = occupancy?.users?.get(userId);
    if (occupancy === undefined || presence === undefined) return NOTHING_LEFT;
    endStay(occupancy, presence);
    return this.afterLeaving(app, channel, occupancy, presence);
  }

  private afterLeaving(
    app: App,
    channel: ChannelText,
    occupancy: Occupancy,
    presence: Presence | undefined,
  ): Transition {
    recount(occupancy);
    const memberRemoved = presence?.loops.total === 0 && !presence.isStaying;
    if (memberRemoved) {
      occupancy.users?.delete(presence.member.userId);
      occupancy.first?.left(presence);
    }

    const vacated = occupancy.subscriptions === 0;
    if (vacated) {
      const channels = this.apps.get(app.id);
      channels?.delete(channel);
      if (channels?.size === 0) this.apps.delete(app.id);
    }
    return {
      occupied: false,
      vacated,
      memberAdded: false,
      memberRemoved,
      counts: countsOf(occupancy),
      large: occupancy.large,
    };
  }

  /** The loops that hold subscriptions of a channel. */
  loopsOf(app: App, channel: ChannelText): Shares | undefined {
    return this.occupancy(app, channel)?.loops;
  }

  members(app: App, channel: ChannelText): readonly Member[] {
    const occupancy = this.occupancy(app, channel);
    const users = occupancy?.users;
    if (users === undefined) return [];
    if (occupancy?.large !== undefined) return [...membersOf(users).take(MEMBERS_MAX)];
    return Array.from(users.values(), ({ member }) => member);
  }

  /** The first members of a large channel, and the newcomer, if it is a member. */
  shown(
    app: App,
    channel: ChannelText,
    newcomer: Member | undefined,
    { shown }: LargeRule,
  ): Member[] {
    const occupancy = this.occupancy(app, channel);
    if (occupancy?.users === undefined) return withNewcomer([], newcomer);
    occupancy.first ??= new FirstMembers(occupancy.users, shown);
    const first = Array.from(occupancy.first.list(), ({ member }) => member);
    return withNewcomer(first, newcomer);
  }

  membersPage(app: App, channel: ChannelText, query: MembersQuery): MembersPage {
    const users = this.occupancy(app, channel)?.users ?? NO_USERS;
    return membersPage(
      users.values().map(({ number, member }) => [number, member] as const),
      query,
    );
  }

  member(app: App, channel: ChannelText, userId: string): Member | undefined {
    return this.occupancy(app, channel)?.users?.get(userId)?.member;
  }

  counts(app: App, channel: ChannelText): ChannelCounts {
    const occupancy = this.occupancy(app, channel);
    return occupancy === undefined ? NO_COUNTS : countsOf(occupancy);
  }

  /** Starts a walk through an app's occupied channels. */
  channels(app: App, query: ChannelQuery): HoldersWalk {
    return new HoldersWalk(this.apps.get(app.id) ?? new Map(), query);
  }

  /** The number of occupied channels of an app. */
  channelCountOf(app: App): number {
    return this.apps.get(app.id)?.size ?? 0;
  }

  /** The number of occupied channels of all apps. */
  channelCount(): number {
    let count = 0;
    for (const channels of this.apps.values()) count += channels.size;
    return count;
  }

  private occupancy(app: App, channel: ChannelText): Occupancy | undefined {
    return this.apps.get(app.id)?.get(channel);
  }
}

function countsOf(occupancy: Occupancy): ChannelCounts {
  return { subscriptions: occupancy.subscriptions, users: occupancy.users?.size ?? 0 };
}

function membersOf(users: ReadonlyMap<string, Presence>): IteratorObject<Member> {
  return users.values().map(({ member }) => member);
}

function recount(occupancy: Occupancy): void {
  occupancy.subscriptions = occupancy.loops.total + occupancy.staying;
}

/** Returns whether the member has stayed without connections. */
function endStay(occupancy: Occupancy, presence: Presence): boolean {
  if (!presence.isStaying) return false;
  presence.isStaying = false;
  occupancy.staying--;
  return true;
}
