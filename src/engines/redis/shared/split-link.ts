import type { RedisListener } from '../link/redis-server.ts';
import type { RedisLink } from '../redis-link.ts';
import type { WaitingEvents } from '../waiting-events.ts';

/**
 * A link whose commands go over connections of this loop, and whose streams come over those of another loop: commands
 * need not pass another thread, and the streams of a partition are followed once in the process.
 *
 * It is away while one of both is.
 */
export class SplitLink implements RedisLink {
  readonly commands: RedisLink['commands'];
  readonly subscriptions: RedisLink['subscriptions'];
  readonly outbox?: WaitingEvents;
  private readonly own: RedisLink;
  private readonly other: RedisLink;

  constructor(own: RedisLink, other: RedisLink) {
    this.own = own;
    this.other = other;
    this.commands = own.commands;
    if (own.outbox !== undefined) this.outbox = own.outbox;
    this.subscriptions = other.subscriptions;
  }

  get away(): RedisLink['away'] {
    return this.own.away ?? this.other.away;
  }

  get master(): string {
    return this.own.master;
  }

  get serverId(): string {
    return this.own.serverId;
  }

  get dataId(): string {
    return this.own.dataId;
  }

  async close(): Promise<void> {
    await Promise.all([this.own.close(), this.other.close()]);
  }
}

/** Passes on what happens to one half of a link. */
export function halfOf(listener: RedisListener, link: () => RedisLink | undefined): RedisListener {
  return {
    onAway: (away) => listener.onAway(away),
    onBack() {
      const away = link()?.away;
      if (away === undefined) listener.onBack();
      // The other half is still away.
      else listener.onAway(away);
    },
    onGap: (why) => listener.onGap(why),
    onMessage: (stream, payload, loops) => listener.onMessage(stream, payload, loops),
  };
}
