import { isGiven } from '../../runtime/json-object.ts';
import type { PushInstance } from '../model/instance.ts';
import { readUserId } from '../model/user-id.ts';
import { PushRefusal } from '../refusal.ts';
import { readJwt } from './jwt.ts';

/** All server libraries name this host as the issuer, whatever server they are configured with. Source: §2.5. */
const HOSTED = 'pushnotifications.pusher.com';

/** A token that identifies the user of a device. */
export interface VerifiedBeamsToken {
  readonly ok: true;
  readonly userId: string;
}

export interface BeamsTokenOptions {
  readonly nowSeconds: number;
  /** Allows for clock differences, and for a library with a time zone bug. */
  readonly leewaySeconds: number;
  /** This server's own hosts, which are valid issuers as well. */
  readonly hosts: readonly string[];
}

/**
 * Verifies the token with which a customer's backend names the user of a device. Checks the claims only after the
 * signature. Descriptions must not contain the words by which the iOS SDK recognises a problem with its push token.
 * Source: push protocol, §2.5 and §3.5.
 */
export function verifyBeamsToken(
  token: string,
  instance: Pick<PushInstance, 'id' | 'secretKeys' | 'keyUses'>,
  options: BeamsTokenOptions,
): VerifiedBeamsToken | PushRefusal {
  const jwt = readJwt(token, instance.secretKeys);
  if (!jwt.ok) return new PushRefusal('unauthorized', jwt.why);
  const { exp, nbf, sub, iss } = jwt.claims;
  if (!isTime(exp)) return refuseClaim('exp', 'must be a number');
  if (isGiven(nbf) && !isTime(nbf)) return refuseClaim('nbf', 'must be a number');
  const user = readUserId(sub);
  if (!user.ok) return refuseClaim('sub', user.why);
  if (typeof iss !== 'string') return refuseClaim('iss', 'must be a string');
  if (!isIssuer(iss, instance.id, options.hosts)) {
    return new PushRefusal('forbidden', 'The issuer of the Beams Token is not this instance');
  }
  const { nowSeconds, leewaySeconds } = options;
  if (nowSeconds >= exp + leewaySeconds) {
    return new PushRefusal('unauthorized', 'The Beams Token has expired');
  }
  if (isTime(nbf) && nowSeconds < nbf - leewaySeconds) {
    return new PushRefusal('unauthorized', 'The Beams Token is not valid yet');
  }
  instance.keyUses?.of(jwt.secret)?.note('signature');
  return { ok: true, userId: user.userId };
}

/** Libraries write times as integers or floats. */
function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function refuseClaim(claim: string, why: string): PushRefusal {
  return new PushRefusal('bad-device-request', `The claim \`${claim}\` of the Beams Token ${why}`);
}

/** One library leaves out the scheme. The id may be in any case. */
function isIssuer(issuer: string, instanceId: string, hosts: readonly string[]): boolean {
  const host = issuer.toLowerCase().replace(/^https?:\/\//, '');
  return [HOSTED, ...hosts].some((own) => host === `${instanceId}.${own}`.toLowerCase());
}
