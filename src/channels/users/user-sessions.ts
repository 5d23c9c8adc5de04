import type { App } from '../app.ts';
import type { Session } from '../subscribing/session.ts';

/** The signed-in connections of this loop, by user. */
export class UserSessions {
  private readonly byUser = new Map<string, Set<Session>>();

  add(userId: string, session: Session): void {
    const key = keyOf(session.app, userId);
    const sessions = this.byUser.get(key);
    if (sessions === undefined) this.byUser.set(key, new Set([session]));
    else sessions.add(session);
  }

  remove(userId: string, session: Session): void {
    const key = keyOf(session.app, userId);
    const sessions = this.byUser.get(key);
    sessions?.delete(session);
    if (sessions?.size === 0) this.byUser.delete(key);
  }

  has(app: App, userId: string): boolean {
    return this.byUser.has(keyOf(app, userId));
  }

  /** Returns a copy, so that the sessions may be ended while it is iterated. */
  of(app: App, userId: string): readonly Session[] {
    return [...(this.byUser.get(keyOf(app, userId)) ?? [])];
  }
}

function keyOf(app: App, userId: string): string {
  // App ids have no slash.
  return `${app.id}/${userId}`;
}
