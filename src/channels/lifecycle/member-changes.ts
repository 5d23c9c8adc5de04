import type { Timers } from '../../runtime/ports.ts';
import type { App } from '../app.ts';
import { type Broadcaster, broadcast } from '../broadcast.ts';
import type { ChannelName } from '../channel-name.ts';
import { topicOf } from '../event.ts';
import type { Member, Peer } from '../ports.ts';
import type { Usage } from '../usage.ts';
import { memberAdded, memberRemoved } from '../wire.ts';
import { ChangeLimiter } from './change-limiter.ts';

const WINDOW_MS = 1000;

export interface MemberChangesOptions {
  readonly timers: Timers;
  readonly broadcaster: Broadcaster;
  readonly usage: Usage;
}

/**
 * Sends `member_added` and `member_removed` to the members of presence channels.
 *
 * Each change reaches every member, so the changes of one user are limited to `limits.memberChangesPerSecond`. The last
 * change is always sent, even if it restores what was sent before: members who joined in between have another list. Clients
 * ignore a user who is added or removed twice (protocol, §6).
 */
export class MemberChanges {
  private readonly broadcaster: Broadcaster;
  private readonly usage: Usage;
  /** By topic and user. */
  private readonly limiter: ChangeLimiter<string>;

  constructor({ timers, broadcaster, usage }: MemberChangesOptions) {
    this.broadcaster = broadcaster;
    this.usage = usage;
    this.limiter = new ChangeLimiter(timers, WINDOW_MS);
  }

  /** A user joined with a first connection, `newcomer`, which does not get the event. */
  added(app: App, channel: ChannelName, member: Member, newcomer: Peer): void {
    this.changed(app, channel, member, () =>
      broadcast(this.broadcaster, topicOf(app, channel), () => memberAdded(channel.text, member), {
        except: newcomer,
      }),
    );
  }

  /** A user's last connection left. */
  removed(app: App, channel: ChannelName, member: Member): void {
    this.changed(app, channel, member, () =>
      broadcast(this.broadcaster, topicOf(app, channel), () =>
        memberRemoved(channel.text, member.userId),
      ),
    );
  }

  private changed(app: App, channel: ChannelName, member: Member, send: () => number): void {
    const sendNow = () => this.usage.charge(app, send(), 'clients');
    const { memberChangesPerSecond } = app.limits;
    if (memberChangesPerSecond === 0) return sendNow();
    const key = `${topicOf(app, channel)}\n${member.userId}`;
    this.limiter.changed(key, memberChangesPerSecond, sendNow);
  }
}
