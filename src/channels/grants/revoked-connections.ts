import type { Hub } from '../hub.ts';
import type { Session } from '../subscribing/session.ts';
import { askedOf } from './asked.ts';
import type { ConnectionGrants } from './connection-grants.ts';
import type { Revocation } from './revocations.ts';

/**
 * How long after a revocation its connections end: tokens that are issued in the same second are revoked too, so a client that
 * came back sooner with a new one would be refused. Longer than a second by the time in which the revocation is answered.
 */
const ENDS_AFTER_MS = 1250;

/** The longest time until then, if the clock of the server that was asked is ahead. */
const ENDS_WITHIN_MS = 1000;

/** Whether a connection must end now, because something hangs on a grant that was revoked. Called about once a second. */
export function endsByRevocation(
  hub: Pick<Hub, 'clock' | 'revocations'>,
  session: Session,
): boolean {
  const { grants, app } = session;
  if (grants === undefined) return false;
  const nowMs = hub.clock.now();
  const version = hub.revocations.versionOf(app.id);
  // One that ends is examined again: a new grant may carry what hangs on the old one.
  if (grants.examinedVersion !== version) {
    const revocation = grants.letGoOfRevoked(askedOf(hub, session));
    if (revocation !== undefined) endSoon(grants, revocation, nowMs);
    else {
      grants.examinedVersion = version;
      if (!grants.isSignInRevoked) grants.endsAtMs = undefined;
    }
  }
  return grants.endsAtMs !== undefined && nowMs >= grants.endsAtMs;
}

/** Ends a connection whose sign-in was refused because of a revocation: with a new one its client can sign in. */
export function endAfterRefusal(
  grants: ConnectionGrants,
  revocation: Revocation,
  nowMs: number,
): void {
  grants.isSignInRevoked = true;
  endSoon(grants, revocation, nowMs);
}

/** Later revocations do not postpone it. */
function endSoon(grants: ConnectionGrants, { revokedAtMs }: Revocation, nowMs: number): void {
  grants.endsAtMs ??= Math.max(
    nowMs,
    Math.min(revokedAtMs + ENDS_AFTER_MS, nowMs + ENDS_WITHIN_MS),
  );
}
