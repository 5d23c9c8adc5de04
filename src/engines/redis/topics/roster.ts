import { type Broadcaster, broadcast } from '../../../channels/broadcast.ts';
import type { Broadcast, Member } from '../../../channels/ports.ts';
import type { SocketId } from '../../../channels/socket-id.ts';
import { memberAdded, memberRemoved } from '../../../channels/wire.ts';

/**
 * The members of a presence channel that the clients of this loop know of. All of them know the same ones: a newcomer
 * gets this list, and then the changes that all others get. So no client receives the same change twice.
 */
export class Roster {
  private readonly options: RosterOptions;
  private readonly members: Map<string, Member>;
  /**
   * By user, a connection that entered before the others were told of the user. It gets no event about itself.
   */
  private readonly untold = new Map<string, SocketId>();

  constructor(members: ReadonlyMap<string, Member>, options: RosterOptions) {
    this.members = new Map(members);
    this.options = options;
  }

  /** The list for a newcomer: also itself, if it is a member and the message about it was missed. */
  listFor(newcomer: Member | undefined, socketId: SocketId): readonly Member[] {
    const known = [...this.members.values()];
    if (newcomer === undefined || this.members.has(newcomer.userId)) return known;
    this.untold.set(newcomer.userId, socketId);
    return [...known, newcomer];
  }

  add(member: Member, newcomer?: SocketId): void {
    const { userId, userInfo } = member;
    const known = this.members.get(userId);
    if (known?.userInfo === userInfo && known !== undefined) return;
    // The user left and returned with another `user_info`, and only the return was published.
    this.remove(userId);
    this.members.set(userId, member);
    const except = newcomer ?? this.untold.get(userId);
    this.untold.delete(userId);
    this.tell({ makeFrame: () => memberAdded(this.options.channel, member), except });
  }

  remove(userId: string): void {
    if (!this.members.delete(userId)) return;
    this.tell({ makeFrame: () => memberRemoved(this.options.channel, userId) });
  }

  /** A user has no connection of this loop any more. */
  left(userId: string): void {
    this.untold.delete(userId);
  }

  /** Tells the difference to the present members. `isIncomplete`: some of them may be missing. */
  become(members: ReadonlyMap<string, Member>, isIncomplete: boolean): void {
    for (const userId of isIncomplete ? [] : [...this.members.keys()]) {
      if (!members.has(userId)) this.remove(userId);
    }
    for (const member of members.values()) this.add(member);
  }

  private tell(change: Pick<Broadcast, 'makeFrame' | 'except'>): void {
    const { app, channel, broadcaster } = this.options;
    broadcast(broadcaster, { app, channel, cause: 'clients', ...change });
  }
}

export interface RosterOptions extends Pick<Broadcast, 'app' | 'channel'> {
  readonly broadcaster: Broadcaster;
}
