import type { App } from '../app.ts';
import { attempt, type MaybePromise } from '../maybe-promise.ts';
import type { Session } from '../subscribing/session.ts';

const NO_USERS: ReadonlyMap<string, unknown> = new Map();

/** The connections of one user. */
class SessionsOfUser extends Set<Session> {
  /** Those of them whose sign-in the authority has not answered. */
  joining = 0;
}

/** The signed-in connections of this loop, by user, including those that are signing in. */
export class UserSessions {
  private readonly byApp = new Map<string, Map<string, SessionsOfUser>>();
  /** The last statement about a user, by app and user. */
  private readonly stated = new Map<string, Promise<unknown>>();

  /** Adds a session that is signing in. */
  add(userId: string, session: Session): void {
    const byUser = this.byApp.getOrInsertComputed(session.app.id, () => new Map());
    const sessions = byUser.getOrInsertComputed(userId, () => new SessionsOfUser());
    sessions.add(session);
    session.signingIn = true;
    sessions.joining++;
  }

  /** The sign-in of a session has succeeded. It may have been removed meanwhile. */
  entered(userId: string, session: Session): void {
    session.signingIn = false;
    const sessions = this.byApp.get(session.app.id)?.get(userId);
    if (sessions?.has(session) === true) sessions.joining--;
  }

  remove(userId: string, session: Session): void {
    const { id } = session.app;
    const byUser = this.byApp.get(id);
    const sessions = byUser?.get(userId);
    if (sessions?.delete(session) === true && session.signingIn) sessions.joining--;
    if (sessions?.size === 0) byUser?.delete(userId);
    if (byUser?.size === 0) this.byApp.delete(id);
  }

  has(app: App, userId: string): boolean {
    return this.byApp.get(app.id)?.has(userId) === true;
  }

  /** How many connections are signed in as a user, without those that are signing in. */
  held(app: App, userId: string): number {
    const sessions = this.byApp.get(app.id)?.get(userId);
    return sessions === undefined ? 0 : sessions.size - sessions.joining;
  }

  /**
   * Runs a statement about the connections of a user after those before it: each says how many there are, so it must know what
   * became of the others.
   */
  inTurn<T>(app: App, userId: string, state: () => MaybePromise<T>): MaybePromise<T> {
    // App ids have no slash.
    const key = `${app.id}/${userId}`;
    const before = this.stated.get(key);
    const stated = before === undefined ? attempt(state) : before.then(state, state);
    if (!(stated instanceof Promise)) return stated;
    this.stated.set(key, stated);
    const done = () => {
      if (this.stated.get(key) === stated) this.stated.delete(key);
    };
    stated.then(done, done);
    return stated;
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
