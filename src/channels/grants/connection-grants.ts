import type { AppGrants } from '../app.ts';
import type { ChannelName } from '../channel-name.ts';
import { covers, type Grant, hashOfToken, newGrant, type Right } from './grant.ts';
import { patternsFor } from './read-patterns.ts';
import type { GrantOrigin, Revocation, Revocations } from './revocations.ts';
import type { WaitingSubscription } from './waiting-subscription.ts';

/** The grants that a connection keeps. */
const KEPT_MAX = 8;

const NONE: ReadonlyMap<string, WaitingSubscription> = new Map();

/**
 * The grants of one connection, the channels that it entered by them, and the subscriptions that wait for one. Source: identity,
 * §3.2 to §3.5.
 */
export class ConnectionGrants {
  /** The last ones, the newest at the end. */
  private kept: readonly Grant[] = [];
  /** The channels that it entered by a grant, and the last-ending grant that covers each; `undefined`: there are none. */
  private entered: Map<string, Hanging> | undefined;
  /** What the setting gives the user, and what it was made of. */
  private ofSetting:
    | { readonly from: AppGrants; readonly origin: GrantOrigin; readonly grant: Grant }
    | undefined;
  /** The sign-in by which the setting holds. */
  private signIn: GrantOrigin | undefined;
  /** The token through which it is signed in; `undefined`: it is signed in otherwise, or not at all. */
  signedInBy: Grant | undefined;
  /** The version of the app's revocations up to which its grants were examined. */
  examinedVersion = 0;
  /** When the connection ends because of a revocation. Milliseconds since 1970. */
  endsAtMs: number | undefined;
  /** Whether its sign-in was refused because of one: it ends then in any case. */
  isSignInRevoked = false;
  private waitingOnes: Map<string, WaitingSubscription> | undefined;

  /** Subscriptions that wait for a sign-in, in their order, by the names of their channels. */
  get waiting(): ReadonlyMap<string, WaitingSubscription> {
    return this.waitingOnes ?? NONE;
  }

  wait(waiting: WaitingSubscription): void {
    this.waitingOnes ??= new Map();
    this.waitingOnes.set(waiting.channel.text, waiting);
  }

  /** Lets a subscription wait no longer; `false` if it does not. */
  stopWaiting(channel: string): boolean {
    const { waitingOnes } = this;
    if (waitingOnes?.delete(channel) !== true) return false;
    if (waitingOnes.size === 0) this.waitingOnes = undefined;
    return true;
  }

  get all(): readonly Grant[] {
    return this.kept;
  }

  /** The live grant that a token gave, so that a token is verified once. */
  ofToken(token: string, nowMs: number): Grant | undefined {
    if (this.kept.every(({ tokenHash }) => tokenHash === undefined)) return undefined;
    const hash = hashOfToken(token);
    return this.kept.find(({ tokenHash, endsAtMs }) => tokenHash === hash && endsAtMs > nowMs);
  }

  add(grant: Grant): void {
    const { tokenHash } = grant;
    const others = this.kept.filter((one) => !tokenHash || one.tokenHash !== tokenHash);
    this.kept = [...others.slice(1 - KEPT_MAX), grant];
    // Something may have been revoked while the engine was asked.
    this.examinedVersion = -1;
    for (const hanging of this.entered?.values() ?? []) {
      const isLater = grant.endsAtMs > hanging.grant.endsAtMs;
      if (isLater && covers(grant, hanging.channel, 'subscribe')) hanging.grant = grant;
    }
  }

  /** Notes a sign-in. That of a backend counts for longer than a token, which is older. */
  signedIn(origin: GrantOrigin): void {
    const { issuedAtSeconds = Number.NEGATIVE_INFINITY } = this.signIn ?? {};
    if ((origin.issuedAtSeconds ?? Number.NEGATIVE_INFINITY) >= issuedAtSeconds)
      this.signIn = origin;
    this.examinedVersion = -1;
  }

  /** The last-ending live grant that gives a right in a channel. */
  covering(channel: ChannelName, right: Right, asked: Asked): Grant | undefined {
    let last: Grant | undefined;
    for (const grant of [...this.kept, this.enteredBy(channel.text), this.grantOfSetting(asked)]) {
      if (grant === undefined) continue;
      if (grant.endsAtMs <= asked.nowMs || !covers(grant, channel, right)) continue;
      if (last !== undefined && grant.endsAtMs <= last.endsAtMs) continue;
      if (revoking(grant, asked) === undefined) last = grant;
    }
    return last;
  }

  /** Notes that a channel is entered by a grant. */
  enter(channel: ChannelName, grant: Grant): void {
    this.entered ??= new Map();
    this.entered.set(channel.text, { channel, grant });
  }

  leave(channel: string): void {
    this.entered?.delete(channel);
    if (this.entered?.size === 0) this.entered = undefined;
  }

  /** The grant by which a channel was entered; `undefined`: it was entered by a signature. */
  enteredBy(channel: string): Grant | undefined {
    return this.entered?.get(channel)?.grant;
  }

  private grantOfSetting({ setting, userId }: Asked): Grant | undefined {
    if (setting === undefined || userId === undefined) return undefined;
    const origin = this.signIn ?? { userId };
    if (this.ofSetting?.from !== setting || this.ofSetting.origin !== origin) {
      const patterns = patternsFor(setting.channels, userId);
      const endsAtMs = Number.POSITIVE_INFINITY;
      const grant = newGrant(origin, { patterns, endsAtMs, by: 'setting' });
      this.ofSetting = { from: setting, origin, grant };
    }
    return this.ofSetting.grant;
  }

  /**
   * Lets go of grants that were revoked. Returns by what, if something hangs on one of them that no other grant carries.
   */
  letGoOfRevoked(asked: Asked): Revocation | undefined {
    this.kept = this.kept.filter((grant) => revoking(grant, asked) === undefined);
    let found: Revocation | undefined;
    const ofSignIn = this.signedInBy && revoking(this.signedInBy, asked);
    if (ofSignIn !== undefined) {
      const other = this.kept.findLast(
        ({ by, userId, endsAtMs }) =>
          by === 'token' && userId === asked.userId && endsAtMs > asked.nowMs,
      );
      if (other === undefined) found = ofSignIn;
      else this.signedInBy = other;
    }
    for (const hanging of this.entered?.values() ?? []) {
      const revoked = revoking(hanging.grant, asked);
      if (revoked === undefined) continue;
      const other = this.covering(hanging.channel, 'subscribe', asked);
      if (other === undefined) found = revoked;
      else hanging.grant = other;
    }
    return found;
  }

  /** Whether something that hangs on a grant has outlived it. */
  hasEnded(nowMs: number): boolean {
    if (this.signedInBy !== undefined && this.signedInBy.endsAtMs <= nowMs) return true;
    for (const { grant } of this.entered?.values() ?? []) if (grant.endsAtMs <= nowMs) return true;
    return false;
  }
}

function revoking(grant: Grant, { appId, revocations }: Asked): Revocation | undefined {
  return revocations.revoking(appId, grant);
}

export interface Asked {
  readonly nowMs: number;
  readonly appId: string;
  readonly revocations: Revocations;
  /** `undefined`: the app takes grants no more. */
  readonly setting: AppGrants | undefined;
  /** Who is signed in. */
  readonly userId: string | undefined;
}

interface Hanging {
  readonly channel: ChannelName;
  grant: Grant;
}
