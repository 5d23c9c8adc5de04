import type { Timers } from '../../runtime/ports.ts';
import type { App } from '../app.ts';
import type { ChannelName } from '../channel-name.ts';
import { topicOf } from '../event.ts';
import type { Broadcast, Member } from '../ports.ts';
import type { SocketId } from '../socket-id.ts';
import { memberAdded, memberRemoved } from '../wire.ts';
import { ChangeLimiter } from './change-limiter.ts';

const WINDOW_MS = 1000;

/**
 * Sends `member_added` and `member_removed` to the members of presence channels.
 *
 * Each change reaches every member, so the changes of one user are limited to `limits.memberChangesPerSecond`. The
 * last change is always sent, even if it restores the state that was sent before: members who joined in between have
 * another list. Clients ignore a user who is added or removed twice (protocol, §6).
 */
export class MemberChanges {
  private readonly send: (broadcast: Broadcast) => void;
  /** By topic and user. */
  private readonly limiter: ChangeLimiter<string>;

  constructor(timers: Timers, send: (broadcast: Broadcast) => void) {
    this.send = send;
    this.limiter = new ChangeLimiter(timers, WINDOW_MS);
  }

  /** A user joined with a first connection. That connection does not get the event, if it is known. */
  added(app: App, channel: ChannelName, member: Member, newcomer: SocketId | undefined): void {
    this.changed(app, channel, member.userId, {
      makeFrame: () => memberAdded(channel.text, member),
      except: newcomer,
    });
  }

  /** A user's last connection left. */
  removed(app: App, channel: ChannelName, userId: string): void {
    this.changed(app, channel, userId, { makeFrame: () => memberRemoved(channel.text, userId) });
  }

  private changed(
    app: App,
    channel: ChannelName,
    userId: string,
    change: Pick<Broadcast, 'makeFrame' | 'except'>,
  ): void {
    const sendNow = () => this.send({ app, channel: channel.text, cause: 'clients', ...change });
    const { memberChangesPerSecond } = app.limits;
    if (memberChangesPerSecond === 0) return sendNow();
    this.limiter.changed(`${topicOf(app, channel)}\n${userId}`, memberChangesPerSecond, sendNow);
  }
}
