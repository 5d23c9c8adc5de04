import type { App } from '../../channels/app.ts';

/** The answer to one watchlist, while several homes contribute to it. */
export class PendingWatch {
  readonly app: App;
  readonly online = new Set<string>();
  private readonly userIds: ReadonlySet<string>;

  constructor(app: App, userIds: readonly string[]) {
    this.app = app;
    this.userIds = new Set(userIds);
  }

  /** A home has answered for some of the users. */
  addAnswer(userIds: readonly string[], online: ReadonlySet<string>): void {
    for (const userId of userIds) this.changed(userId, online.has(userId));
  }

  changed(userId: string, isOnline: boolean): void {
    if (!this.userIds.has(userId)) return;
    if (isOnline) this.online.add(userId);
    else this.online.delete(userId);
  }
}

/**
 * The users whom this loop watches. A user may come online or go offline after the user's home has answered, but
 * before the last home has. The answer to the watchlist must include that change.
 */
export class PendingWatches {
  private readonly pending = new Set<PendingWatch>();
  /** How many connections of this loop watch a user, by app and user. */
  private readonly watchers = new Map<string, number>();

  begin(app: App, userIds: readonly string[]): PendingWatch {
    for (const userId of userIds) {
      const key = keyOf(app, userId);
      this.watchers.set(key, (this.watchers.get(key) ?? 0) + 1);
    }
    const watch = new PendingWatch(app, userIds);
    this.pending.add(watch);
    return watch;
  }

  /** All homes have answered. Returns who is online. */
  end(watch: PendingWatch): ReadonlySet<string> {
    this.pending.delete(watch);
    return watch.online;
  }

  /** A user came online or went offline. */
  changed(app: App, userId: string, isOnline: boolean): void {
    for (const watch of this.pending) if (watch.app === app) watch.changed(userId, isOnline);
  }

  /** One connection no longer watches these users. Returns those whom nobody on this loop watches now. */
  unwatch(app: App, userIds: readonly string[]): readonly string[] {
    return userIds.filter((userId) => {
      const key = keyOf(app, userId);
      const left = (this.watchers.get(key) ?? 0) - 1;
      if (left > 0) this.watchers.set(key, left);
      else this.watchers.delete(key);
      return left <= 0;
    });
  }
}

function keyOf(app: App, userId: string): string {
  // App ids have no slash.
  return `${app.id}/${userId}`;
}
