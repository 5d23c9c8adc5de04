import { isUserId } from '../channel-name.ts';
import { type Grant, hashOfToken, newGrant } from '../grants/grant.ts';
import { readUserGrants } from '../grants/read-user-grants.ts';
import type { GrantOrigin, Revocation } from '../grants/revocations.ts';
import type { Hub } from '../hub.ts';
import { after, type MaybePromise } from '../maybe-promise.ts';
import { refuseSignIn } from '../signatures/authorise.ts';
import {
  type CheckedToken,
  needsPublicKey,
  readToken,
  unlessRevoked,
} from '../signatures/token.ts';
import type { Session } from '../subscribing/session.ts';
import { withoutData } from '../watching/tap.ts';
import { type ParsedUserData, readUserData, type UserData } from '../wire.ts';

/**
 * What comparing a token with a public key counts as, because that takes as long as many frames: if the token is accepted, and if
 * it is refused or was accepted on the connection before.
 */
const NEW_TOKEN_FRAMES = 10;
const TRIED_KEY_FRAMES = 100;

/** Fetches of a key set that a token waits for. */
const ROUNDS_MAX = 2;

const SIGN_IN_REVOKED =
  'Invalid user_data: its grants were revoked after the connection was opened, please reconnect';

/** Into how many parts the ends of grants of one second are spread. */
const SPREAD_PARTS = 1000;

/** A user that a client presents, by a signature or a token. */
export interface PresentedUser {
  readonly user: UserData;
  /** What confirms the sign-in. */
  readonly userText: string;
  /** What comes with it. */
  readonly grant: Grant | undefined;
  /** By what it can be revoked. */
  readonly origin: GrantOrigin;
}

/** Why a sign-in is refused. `shown`: the same for the log and for live streams, without personal data. */
export interface RefusedSignIn {
  readonly why: string;
  readonly shown?: string;
  /** `signin-invalid` by default. */
  readonly problem?: 'connections-per-user';
  /** Set if the user may sign in on a new connection. */
  readonly revokedBy?: Revocation;
}

/** Reads a user that the app's backend has signed. */
export function readSigned(
  hub: Hub,
  session: Session,
  signed: { readonly auth: string; readonly userData: string },
): PresentedUser | RefusedSignIn {
  const { app } = session;
  const { userData } = signed;
  const refused = refuseSignIn(session, signed);
  if (refused !== undefined) return { why: refused, shown: withoutData(refused, userData) };
  const parsed = readUserData(userData);
  if (!parsed.ok) return { why: describe(parsed.why) };
  const { user } = parsed;
  if (!isUserId(user.id)) {
    return {
      why: 'Invalid user_data: id has characters that no channel name may have, or too many',
    };
  }
  const nowSeconds = hub.clock.now() / 1000;
  const origin: GrantOrigin = { userId: user.id, issuedAtSeconds: nowSeconds };
  const bare: PresentedUser = { user, userText: userData, grant: undefined, origin };
  if (app.grants === undefined) return bare;
  const { leewaySeconds } = app.grants;
  const read = readUserGrants(userData, { nowSeconds, leewaySeconds });
  if (read?.ok === false) return { why: read.why };
  // Nobody knows when a signature was made, but not before the connection that it is for.
  const issuedAtSeconds = hub.openedAtMs(session) / 1000;
  const revokedBy = hub.revocations.revoking(app.id, { ...origin, issuedAtSeconds });
  if (revokedBy !== undefined && (read !== undefined || hasAny(app.grants.channels))) {
    return { why: SIGN_IN_REVOKED, revokedBy };
  }
  if (read === undefined) return bare;
  const endsAtMs = endOf(session, read.endsAtSeconds);
  const grant = newGrant(origin, { patterns: read.patterns, endsAtMs, by: 'sign-in' });
  return { ...bare, grant, origin: grant };
}

function hasAny(channels: object): boolean {
  return Object.keys(channels).length > 0;
}

type Verified =
  | {
      readonly ok: true;
      readonly user: UserData | undefined;
      readonly userText: string;
      readonly userClaim: string;
      readonly grant: Grant;
    }
  | Extract<CheckedToken, { ok: false }>;

/** The setting was taken away while the token waited for its key set. */
const NO_TOKENS = {
  ok: false,
  result: 'key',
  why: 'The app takes no tokens',
  triedKeys: 0,
  lacks: undefined,
} as const;

/**
 * Verifies a token of a client, and counts the result. If its issuer may have published a key for it, the key set is fetched
 * anew first. Rejects with `KeysUnavailable` if no keys of the issuer are known.
 */
export function readPresentedToken(
  hub: Hub,
  session: Session,
  token: string,
): MaybePromise<Verified> {
  return after(verifyInTurn(hub, session, token), (read) => {
    if (read.ok || read.lacks === undefined || session.closed) return counted(hub, read);
    const fetched = hub.keySets.refresh(session.app);
    return fetched === undefined ? counted(hub, read) : verifyAgain(hub, session, token, fetched);
  });
}

/** Verifies a token after each fetch. The first one may have begun before the issuer published the key. */
async function verifyAgain(
  hub: Hub,
  session: Session,
  token: string,
  fetched: Promise<void>,
): Promise<Verified> {
  let read: Verified;
  let waits: Promise<void> | undefined = fetched;
  let rounds = 0;
  do {
    await waits;
    read = await verifyInTurn(hub, session, token);
    rounds += 1;
    waits =
      read.ok || read.lacks === undefined || session.closed || rounds === ROUNDS_MAX
        ? undefined
        : hub.keySets.refresh(session.app);
  } while (waits !== undefined);
  return await counted(hub, read);
}

/** Verifies a token: now, or in its turn if too many were for nothing lately. */
function verifyInTurn(hub: Hub, session: Session, token: string): MaybePromise<Verified> {
  const { tokenTurns, rateLimitedLog } = hub;
  const { app, socketId } = session;
  if (tokenTurns.isOpen(app) || !needsPublicKey(token)) return verify(hub, session, token);
  rateLimitedLog.info(
    'A token waits: many were refused lately',
    { app: app.id },
    { connection: socketId, waiting: tokenTurns.size },
  );
  return tokenTurns.wait(session, () => verify(hub, session, token));
}

function verify(hub: Hub, session: Session, token: string): Verified {
  const { app } = session;
  const { grants } = app;
  if (grants === undefined) return NO_TOKENS;
  const verified = readToken({ ...app, grants }, token, hub.clock.now() / 1000);
  const read = unlessRevoked(verified, app.id, hub.revocations);
  const isNew = read.ok && session.grants?.ofToken(token, hub.clock.now()) === undefined;
  session.frameDebt += read.triedKeys * (isNew ? NEW_TOKEN_FRAMES : TRIED_KEY_FRAMES);
  if (!isNew) hub.tokenTurns.charge(app, read.triedKeys);
  if (!read.ok) return read;
  const { user, userText, patterns, endsAtSeconds, origin } = read;
  const endsAtMs = endOf(session, endsAtSeconds);
  const tokenHash = hashOfToken(token);
  const grant = newGrant(origin, { patterns, endsAtMs, by: 'token', tokenHash });
  return { ok: true, user, userText, userClaim: grants.userClaim, grant };
}

function counted(hub: Hub, read: Verified): MaybePromise<Verified> {
  hub.meter.count('tokens', 1, read.ok ? 'accepted' : read.result);
  return !read.ok && read.lacks === 'key-set' ? Promise.reject(new KeysUnavailable()) : read;
}

/** A token cannot be verified, because no keys of its issuer are known. The connection should come back later. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

/**
 * When a grant ends. Connections whose grants end in the same second do not reconnect in the same one: their ends are
 * spread over the leeway. Milliseconds since 1970.
 */
function endOf({ app, socketId }: Session, endsAtSeconds: number | undefined): number {
  if (endsAtSeconds === undefined) return Number.POSITIVE_INFINITY;
  const spread = (Number(socketId.slice(socketId.indexOf('.') + 1)) % SPREAD_PARTS) / SPREAD_PARTS;
  return 1000 * (endsAtSeconds + spread * (app.grants?.leewaySeconds ?? 0));
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
