import { ask } from '../engine-failure.ts';
import { ConnectionGrants } from '../grants/connection-grants.ts';
import { endAfterRefusal } from '../grants/revoked-connections.ts';
import type { Hub } from '../hub.ts';
import { after, type MaybePromise, undoIfFailed } from '../maybe-promise.ts';
import { inBandProblems } from '../problems/problems.ts';
import { reportProblem, sendProblem } from '../problems/report-problem.ts';
import { isToken } from '../signatures/token.ts';
import { unsigned } from '../signatures/unsigned.ts';
import type { Refusal } from '../subscribing/refusal.ts';
import type { Session } from '../subscribing/session.ts';
import {
  type ClientMessage,
  signInSucceeded,
  USER_DATA_RULE,
  type UserData,
  watchlistEvents,
} from '../wire.ts';
import {
  type PresentedUser,
  type RefusedSignIn,
  readPresentedToken,
  readSigned,
} from './presented-user.ts';
import { leavePlace, takePlace } from './user-places.ts';
import { watchTopic } from './watch-topic.ts';

/** The limit of users that one connection may watch. Source: Channels protocol, §16. */
const WATCHLIST_MAX = 100;

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
  const { auth, userData } = message;
  if (isToken(session.app, auth)) return signInByToken(hub, session, auth, userData);
  if (userData === undefined) {
    return reportProblem(hub, session, { problem: 'malformed-message', message: USER_DATA_RULE });
  }
  const presented = readSigned(hub, session, { auth, userData });
  if (!('why' in presented)) return enterConfirmed(hub, session, presented);
  const { revokedBy } = presented;
  if (revokedBy !== undefined) endAfterRefusal(grantsOf(session), revokedBy, hub.clock.now());
  return refuse(hub, session, presented);
}

function signInByToken(
  hub: Hub,
  session: Session,
  token: string,
  userData: string | undefined,
): MaybePromise<void> {
  if (userData !== undefined && userData !== '') {
    return refuse(hub, session, { why: 'Invalid user_data: it must be empty beside a token' });
  }
  return after(readPresentedToken(hub, session, token), (read) => {
    // It may have closed while the key set was fetched.
    if (session.closed) return;
    if (!read.ok) return refuse(hub, session, read);
    const { user, userText } = read;
    if (user === undefined) {
      const { userClaim } = read;
      const why = `Invalid token: the claim \`${userClaim}\` must be a user id`;
      return refuse(hub, session, { why });
    }
    const { grant } = read;
    return enterConfirmed(hub, session, { user, userText, grant, origin: grant });
  });
}

/**
 * Takes a token that a client presents for a channel: keeps its grant, and signs its user in without telling the client, who
 * did not ask for it. Returns why it is refused. Source: identity, §3.2.
 */
export function presentToken(
  hub: Hub,
  session: Session,
  token: string,
): MaybePromise<Refusal | undefined> {
  const grants = grantsOf(session);
  const known = grants.ofToken(token, hub.clock.now());
  const isKnown = known && hub.revocations.revoking(session.app.id, known) === undefined;
  if (isKnown === true) return undefined;
  return after(readPresentedToken(hub, session, token), (read) => {
    // The caller sees that it has closed while the key set was fetched.
    if (session.closed) return undefined;
    if (!read.ok) return { problem: 'token-invalid', message: read.why };
    const { user, userText, grant } = read;
    if (user === undefined) {
      grants.add(grant);
      return undefined;
    }
    const presented = { user, userText, grant, origin: grant };
    return after(enterAs(hub, session, presented, 'quiet'), (refused) =>
      refused === undefined
        ? undefined
        : { problem: refused.problem ?? 'token-invalid', message: refused.why },
    );
  });
}

function grantsOf(session: Session): ConnectionGrants {
  session.grants ??= new ConnectionGrants();
  return session.grants;
}

function refuseOther({ user }: Session, { id }: UserData): string | undefined {
  return user !== undefined && user.id !== id
    ? `The connection is signed in as ${user.id} already`
    : undefined;
}

function refuseAnother({ app }: Session, { id }: UserData): RefusedSignIn {
  const most = app.limits.connectionsPerUser;
  const why = `The user ${id} has ${most} connections already, which is the limit`;
  return { why, problem: 'connections-per-user' };
}

function enterConfirmed(hub: Hub, session: Session, presented: PresentedUser): MaybePromise<void> {
  return after(enterAs(hub, session, presented, 'confirmed'), (refused) => {
    if (refused !== undefined) refuse(hub, session, refused);
  });
}

/** Signs a presented user in. `quiet`: the client did not ask for it. Returns why it is refused. */
function enterAs(
  hub: Hub,
  session: Session,
  presented: PresentedUser,
  how: 'confirmed' | 'quiet',
): MaybePromise<RefusedSignIn | undefined> {
  const { user, userText } = presented;
  const other = refuseOther(session, user);
  if (other !== undefined) return { why: other };
  // Signing in as the same user again changes nothing but the grants.
  if (session.user !== undefined) {
    keepGrant(session, presented, session.grants?.signedInBy !== undefined);
    if (how === 'confirmed') session.peer.send(signInSucceeded(userText));
    return undefined;
  }
  session.user = user;
  session.authorised = true;
  hub.sessions.add(user.id, session);
  const notSignedIn = () => {
    hub.sessions.remove(user.id, session);
    session.signingIn = false;
    session.user = undefined;
  };
  const signedIn = undoIfFailed(() => takePlace(hub, session, user.id), notSignedIn);
  return after(signedIn, (isIn) => {
    if (!isIn) {
      notSignedIn();
      return refuseAnother(session, user);
    }
    session.signingIn = false;
    if (session.closed) return after(signOut(hub, session), () => undefined);
    keepGrant(session, presented, true);
    if (how === 'confirmed') session.peer.send(signInSucceeded(userText));
    session.app.tap?.record({
      kind: 'signed-in',
      socket: session.socketId,
      user: user.id,
      data: user.userInfo,
    });
    if (how === 'confirmed') return after(watch(hub, session, user), () => undefined);
    return undefined;
  });
}

/** `hangs`: whether the sign-in hangs on a token, or on nothing yet. */
function keepGrant(session: Session, { grant, origin }: PresentedUser, hangs: boolean): void {
  if (session.app.grants === undefined) return;
  const grants = grantsOf(session);
  grants.signedIn(origin);
  if (grant !== undefined) grants.add(grant);
  if (!hangs) return;
  // A signature holds for as long as the connection.
  if (grant?.by !== 'token') grants.signedInBy = undefined;
  else if (grant.endsAtMs >= (grants.signedInBy?.endsAtMs ?? 0)) grants.signedInBy = grant;
}

/** Sends which watched users are online, and subscribes to their changes. Source: §8.3. */
function watch(hub: Hub, session: Session, user: UserData): MaybePromise<void> {
  const { app } = session;
  if (!app.watchlists || user.watchlist.length === 0) return;
  const wanted = [...new Set(user.watchlist)];
  const watched = wanted.slice(0, WATCHLIST_MAX);
  session.user = { ...user, watched };
  const asked = ask('watch', () => hub.authority.watch(app, watched));
  return after(asked, (online) => {
    if (session.closed) return;
    session.peer.send(
      watchlistEvents(
        watched.filter((id) => online.has(id)),
        watched.filter((id) => !online.has(id)),
      ),
    );
    for (const id of watched) hub.audience.join(session.peer, watchTopic(app, id));
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
  return leavePlace(hub, app, user.id);
}

function refuse(hub: Hub, session: Session, refused: RefusedSignIn): void {
  const { why, shown = why, problem = 'signin-invalid' } = refused;
  hub.rateLimitedLog.info(
    'Sign-in refused',
    { app: session.app.id },
    { connection: session.socketId, why: unsigned(shown) },
  );
  sendProblem(hub, session, { problem, message: why });
  session.app.tap?.record({
    kind: 'refused',
    socket: session.socketId,
    user: session.user?.id,
    reason: shown,
    advice: inBandProblems[problem].advice,
  });
}
