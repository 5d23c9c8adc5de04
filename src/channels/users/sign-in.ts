import { parseChannelName } from '../channel-name.ts';
import { ask } from '../engine-failure.ts';
import type { Hub } from '../hub.ts';
import { after, type MaybePromise, undoIfFailed } from '../maybe-promise.ts';
import { inBandProblems } from '../problems/problems.ts';
import { reportProblem, sendProblem } from '../problems/report-problem.ts';
import { refuseSignIn } from '../signatures/authorise.ts';
import { unsigned } from '../signatures/unsigned.ts';
import type { Session } from '../subscribing/session.ts';
import { withoutData } from '../watching/tap.ts';
import {
  type ClientMessage,
  type ParsedUserData,
  readUserData,
  signInSucceeded,
  type UserData,
  watchlistEvents,
} from '../wire.ts';
import { watchTopic } from './watchlist-events.ts';

/** The limit of users that one connection may watch. Source: Channels protocol, §16. */
const WATCHLIST_MAX = 100;

/** Returns the channel through which a backend reaches one user. */
export function userChannel(userId: string): string {
  return `#server-to-user-${userId}`;
}

/** Signs a user in on a connection, or reports why not. The connection stays open either way. Source: §8.1. */
export function signIn(
  hub: Hub,
  session: Session,
  message: Extract<ClientMessage, { type: 'signin' }>,
): MaybePromise<void> {
  // First, because everything below costs more.
  if (!session.mayAttempt()) {
    const { subscriptionsPerSecond } = session.app.limits;
    const message = `Sign-in rejected due to rate limit: at most ${subscriptionsPerSecond} per second`;
    return reportProblem(hub, session, { problem: 'subscription-rate', message });
  }
  const refused = refuseSignIn(session, message);
  if (refused !== undefined) {
    return refuse(hub, session, withoutData(refused, message.userData), refused);
  }
  const parsed = readUserData(message.userData);
  if (!parsed.ok) return refuse(hub, session, describe(parsed.why));
  const { user } = parsed;
  if (!parseChannelName(userChannel(user.id)).ok) {
    return refuse(
      hub,
      session,
      'Invalid user_data: id has characters that no channel name may have, or too many',
    );
  }
  if (session.user !== undefined && session.user.id !== user.id) {
    return refuse(hub, session, `The connection is signed in as ${session.user.id} already`);
  }
  // Signing in as the same user again changes nothing.
  if (session.user !== undefined) {
    session.peer.send(signInSucceeded(message.userData));
    return;
  }
  session.user = user;
  session.signingIn = true;
  session.authorised = true;
  hub.sessions.add(user.id, session);
  const signedIn = undoIfFailed(
    () => ask('signIn', () => hub.authority.signIn(session.app, user.id)),
    () => {
      session.signingIn = false;
      session.user = undefined;
      hub.sessions.remove(user.id, session);
    },
  );
  return after(signedIn, () => {
    session.signingIn = false;
    if (session.closed) return signOut(hub, session);
    session.peer.send(signInSucceeded(message.userData));
    session.app.tap?.record({
      kind: 'signed-in',
      socket: session.socketId,
      user: user.id,
      data: user.userInfo,
    });
    return watch(hub, session, user);
  });
}

/** Sends which watched users are online, and subscribes to their changes. Source: §8.3. */
function watch(hub: Hub, session: Session, { watchlist }: UserData): MaybePromise<void> {
  const { app } = session;
  const wanted = [...new Set(watchlist)];
  if (!app.watchlists || wanted.length === 0) return;
  session.watching = wanted.slice(0, WATCHLIST_MAX);
  const asked = ask('watch', () => hub.authority.watch(app, session.watching));
  return after(asked, (online) => {
    if (session.closed) return;
    session.peer.send(
      watchlistEvents(
        session.watching.filter((id) => online.has(id)),
        session.watching.filter((id) => !online.has(id)),
      ),
    );
    for (const id of session.watching) hub.audience.join(session.peer, watchTopic(app, id));
    if (wanted.length > WATCHLIST_MAX) {
      reportProblem(hub, session, {
        problem: 'watchlist-limit',
        message: `Watchlist limit exceeded: ${wanted.length} users, the first ${WATCHLIST_MAX} are watched`,
      });
    }
  });
}

/** Ends the watches of a session whose connection has closed. */
export function unwatch(hub: Hub, { app, watching }: Session): MaybePromise<void> {
  if (watching.length === 0) return;
  return ask('unwatch', () => hub.authority.unwatch(app, watching));
}

/** Signs out a session whose connection has closed. If it is still signing in, it is signed out after that. */
export function signOut(hub: Hub, session: Session): MaybePromise<void> {
  const { app, user } = session;
  if (user === undefined) return;
  hub.sessions.remove(user.id, session);
  // It is signed out when its sign-in is answered.
  if (session.signingIn) return;
  session.user = undefined;
  if (hub.sessions.has(app, user.id)) return;
  return ask('signOut', () => hub.authority.signOut(app, user.id));
}

/** `shown`: the reason for the log and for the app's live streams, without personal data. */
function refuse(hub: Hub, session: Session, shown: string, why = shown): void {
  hub.rateLimitedLog.info(
    'Sign-in refused',
    { app: session.app.id },
    { connection: session.socketId, why: unsigned(shown) },
  );
  sendProblem(hub, session, { problem: 'signin-invalid', message: why });
  session.app.tap?.record({
    kind: 'refused',
    socket: session.socketId,
    user: session.user?.id,
    reason: shown,
    advice: inBandProblems['signin-invalid'].advice,
  });
}

function describe(why: Exclude<ParsedUserData, { ok: true }>['why']): string {
  switch (why) {
    case 'not-an-object':
      return 'Invalid user_data: it must be a string that holds a JSON object';
    case 'no-id':
      return 'Invalid user_data: id must be a string that is not empty';
    case 'user-info-not-an-object':
      return 'Invalid user_data: user_info must be an object if it is given';
    case 'bad-watchlist':
      return 'Invalid user_data: watchlist must be an array of user ids';
    default:
      return why satisfies never;
  }
}
