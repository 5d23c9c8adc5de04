import type { App } from '../app.ts';
import type { Session } from '../subscribing/session.ts';

const NO_USERS: ReadonlyMap<string, unknown> = new Map();

/** The signed-in connections of this loop, by user. */
export class UserSessions {
  private readonly byApp = new Map<string, Map<string, Set<Session>>>();

  add(userId: string, session: Session): void {
    const byUser = this.byApp.getOrInsertComputed(session.app.id, () => new Map());
    byUser.getOrInsertComputed(userId, () => new Set()).add(session);
  }

  remove(userId: string, session: Session): void {
    const { id } = session.app;
    const byUser = this.byApp.get(id);
    const sessions = byUser?.get(userId);
    sessions?.delete(session);
    if (sessions?.size === 0) byUser?.delete(userId);
    if (byUser?.size === 0) this.byApp.delete(id);
  }

  has(app: App, userId: string): boolean {
    return this.byApp.get(app.id)?.has(userId) === true;
  }

  /** Returns a copy, so that sessions may be ended during the iteration. */
  of(app: Pick<App, 'id'>, userId: string): readonly Session[] {
    return [...(this.byApp.get(app.id)?.get(userId) ?? [])];
  }

  /** The signed-in users of an app. */
  usersOf(app: App): IteratorObject<string> {
    return (this.byApp.get(app.id) ?? NO_USERS).keys();
  }
}
