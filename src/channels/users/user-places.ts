import type { App } from '../app.ts';
import { ask } from '../engine-failure.ts';
import type { Hub } from '../hub.ts';
import { after, type MaybePromise, mapAll, recover } from '../maybe-promise.ts';
import type { Session } from '../subscribing/session.ts';

/** Users that are stated at the same time when an app begins to limit their connections. */
const STATED_AT_ONCE = 100;

/** Asks the authority for a place of a session among the connections of its user; `false`: they are at the limit. */
export function takePlace(hub: Hub, session: Session, userId: string): MaybePromise<boolean> {
  const { app } = session;
  const { sessions, authority } = hub;
  const take = () =>
    after(authority.signIn(app, userId, sessions.held(app, userId) + 1), (isIn) => {
      if (isIn) sessions.entered(userId, session);
      return isIn;
    });
  if (app.limits.connectionsPerUser === 0) return ask('signIn', take);
  // Without asking for a connection that closed while it waited.
  return ask('signIn', () => sessions.inTurn(app, userId, () => session.closed || take()));
}

/** States that a connection of a user has ended. */
export function leavePlace(hub: Hub, app: App, userId: string): MaybePromise<void> {
  const { sessions, authority } = hub;
  if (app.limits.connectionsPerUser > 0) return statePlaces(hub, app, userId);
  if (sessions.has(app, userId)) return;
  return ask('signOut', () => authority.signOut(app, userId, 0));
}

/** States how many connections each user of an app has, which limits them from now on. Never fails. */
export async function stateAllPlaces(hub: Hub, app: App): Promise<void> {
  const users = [...hub.sessions.usersOf(app)];
  for (let n = 0; n < users.length; n += STATED_AT_ONCE) {
    await mapAll(users.slice(n, n + STATED_AT_ONCE), (userId) =>
      // The engine completes later what it cannot state now.
      recover(
        () => statePlaces(hub, app, userId),
        () => undefined,
      ),
    );
  }
}

function statePlaces({ sessions, authority }: Hub, app: App, userId: string): MaybePromise<void> {
  const state = () => authority.signOut(app, userId, sessions.held(app, userId));
  return ask('signOut', () => sessions.inTurn(app, userId, state));
}
