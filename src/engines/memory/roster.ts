import type { App } from '../../channels/app.ts';
import type { ChannelName, ChannelText } from '../../channels/channel-name.ts';
import type { ChannelCounts, Member, Roster, Transition } from '../../channels/ports.ts';

interface Presence {
  readonly member: Member;
  connections: number;
}

interface Occupancy {
  subscriptions: number;
  /** By user id, in the order in which they joined; only presence channels have one. */
  users: Map<string, Presence> | undefined;
}

const NOBODY: ChannelCounts = { subscriptions: 0, users: 0 };

/** The roster of a server that runs alone. Answers at once; a join or leave costs the same in any channel. */
export class MemoryRoster implements Roster {
  private readonly apps = new Map<string, Map<ChannelText, Occupancy>>();

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
      occupancy = { subscriptions: 0, users: undefined };
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

  channels(app: App, prefix: string): ReadonlyMap<ChannelText, ChannelCounts> {
    const found = new Map<ChannelText, ChannelCounts>();
    for (const [name, occupancy] of this.apps.get(app.id) ?? []) {
      if (name.startsWith(prefix)) found.set(name, countsOf(occupancy));
    }
    return found;
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
