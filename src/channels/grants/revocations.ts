import type { Clock } from '../../runtime/ports.ts';
import { LEEWAY_SECONDS_MAX, TOKEN_DAYS_MAX } from '../../runtime/tokens/token-times.ts';

/** What is revoked of an app: the grants of a user, one token, or all grants. */
export interface Revoked {
  readonly kind: 'user' | 'token' | 'all';
  /** The id of the user, or the `jti` of the token; empty for all. */
  readonly name: string;
}

/** A revocation. Source: identity, §3.6. */
export interface Revocation extends Revoked {
  readonly appId: string;
  /** Grants that were given in this second or before are revoked. Seconds since 1970; for a token when it was revoked. */
  readonly issuedBefore: number;
  /** Milliseconds since 1970. */
  readonly revokedAtMs: number;
}

/** By what a grant can be revoked. */
export interface GrantOrigin {
  readonly userId?: string | undefined;
  /** The id of the token. */
  readonly jti?: string | undefined;
  /** Seconds since 1970; `undefined`: the token does not say it. */
  readonly issuedAtSeconds?: number | undefined;
}

/** The limit of revocations of one app, without that of all grants. */
export const REVOCATIONS_MAX = 10_000;

/** Why an app cannot revoke more, for its backend. */
export const TOO_MANY = `revocations: at most ${REVOCATIONS_MAX} in ${TOKEN_DAYS_MAX} days; {"all":true} replaces them`;

/**
 * How long a revocation is kept: no token outlives it, whatever the clocks of its issuer and of this server say within the
 * leeway.
 */
export const REVOCATION_KEPT_MS = 1000 * (TOKEN_DAYS_MAX * 86_400 + 2 * LEEWAY_SECONDS_MAX);

/** The later of two revocations of the same. */
function laterOf(one: Revocation, other: Revocation): Revocation {
  return {
    ...other,
    issuedBefore: Math.max(one.issuedBefore, other.issuedBefore),
    revokedAtMs: Math.max(one.revokedAtMs, other.revokedAtMs),
  };
}

/**
 * Up to which `issuedBefore` others need not be kept beside a revocation of all grants. A token that was revoked by its id may
 * say that it was issued later than that, by the leeway.
 */
export function coveredUpTo(all: Pick<Revocation, 'issuedBefore'>) {
  return { user: all.issuedBefore, token: all.issuedBefore - LEEWAY_SECONDS_MAX };
}

/** What is revoked of one app. */
class OfApp {
  readonly user = new Map<string, Revocation>();
  readonly token = new Map<string, Revocation>();
  all: Revocation | undefined;
  version = 0;

  get size(): number {
    return this.user.size + this.token.size;
  }

  add(revocation: Revocation): void {
    const { kind, name } = revocation;
    if (kind !== 'all') {
      const known = this[kind].get(name);
      this[kind].set(name, known === undefined ? revocation : laterOf(known, revocation));
      return;
    }
    this.all = this.all === undefined ? revocation : laterOf(this.all, revocation);
    const upTo = coveredUpTo(this.all);
    this.forget((one) => one.kind !== 'all' && one.issuedBefore <= upTo[one.kind]);
  }

  forget(isOver: (one: Revocation) => boolean): void {
    for (const map of [this.user, this.token]) {
      for (const [name, one] of map) if (isOver(one)) map.delete(name);
    }
    if (this.all !== undefined && isOver(this.all)) this.all = undefined;
  }

  *each(): Generator<Revocation> {
    yield* this.user.values();
    yield* this.token.values();
    if (this.all !== undefined) yield this.all;
  }
}

/** The revocations of all apps, in memory. */
export class Revocations {
  private readonly clock: Clock;
  private readonly byApp = new Map<string, OfApp>();
  private versions = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Another number after each change of what is revoked of an app; 0: nothing is. */
  versionOf(appId: string): number {
    return this.byApp.get(appId)?.version ?? 0;
  }

  /** Adds some to what is revoked. Of those that are known, the later counts. */
  add(revocations: readonly Revocation[]): void {
    for (const one of revocations) {
      let ofApp = this.byApp.get(one.appId);
      if (ofApp === undefined) {
        ofApp = new OfApp();
        this.byApp.set(one.appId, ofApp);
      }
      ofApp.add(one);
      ofApp.version = ++this.versions;
    }
  }

  /** Replaces what is revoked of some apps. */
  replace(appIds: readonly string[], revocations: readonly Revocation[]): void {
    for (const id of appIds) this.byApp.delete(id);
    this.add(revocations);
  }

  /** By what a grant of an app is revoked; `undefined`: it is not. */
  revoking(appId: string, origin: GrantOrigin): Revocation | undefined {
    const ofApp = this.byApp.get(appId);
    if (ofApp === undefined) return undefined;
    const { userId, jti, issuedAtSeconds = Number.NEGATIVE_INFINITY } = origin;
    // A token may name a part of a second.
    const issued = Math.floor(issuedAtSeconds);
    const isOf = (one: Revocation | undefined): one is Revocation =>
      one !== undefined && this.isKept(one) && (one.kind === 'token' || issued <= one.issuedBefore);
    const found = [
      ofApp.all,
      userId === undefined ? undefined : ofApp.user.get(userId),
      jti === undefined ? undefined : ofApp.token.get(jti),
    ];
    return found.find(isOf);
  }

  /** Whether a revocation is known, or a later one of the same. */
  holds({ appId, kind, name, issuedBefore }: Revocation): boolean {
    const ofApp = this.byApp.get(appId);
    const known = kind === 'all' ? ofApp?.all : ofApp?.[kind].get(name);
    return known !== undefined && known.issuedBefore >= issuedBefore;
  }

  /** Whether an app may revoke something more. */
  hasRoomFor(appId: string, { kind, name }: Revoked): boolean {
    const ofApp = this.byApp.get(appId);
    if (ofApp === undefined || kind === 'all' || ofApp[kind].has(name)) return true;
    if (ofApp.size >= REVOCATIONS_MAX) ofApp.forget((one) => !this.isKept(one));
    return ofApp.size < REVOCATIONS_MAX;
  }

  /** All, also those that nobody needs any more. */
  *all(): Generator<Revocation> {
    for (const ofApp of this.byApp.values()) yield* ofApp.each();
  }

  private isKept({ revokedAtMs }: Revocation): boolean {
    return revokedAtMs + REVOCATION_KEPT_MS > this.clock.now();
  }
}
