import type { AppGrants } from '../app.ts';
import type { ChannelName } from '../channel-name.ts';
import { covers, type Grant, type Right } from './grant.ts';
import { patternsFor } from './read-patterns.ts';
import type { WaitingSubscription } from './waiting-subscription.ts';

/** The grants that a connection keeps. */
const KEPT_MAX = 8;

/**
 * The grants of one connection, the channels that it entered by them, and the subscriptions that wait for one. Source: identity,
 * §3.2 to §3.5.
 */
export class ConnectionGrants {
  /** The last ones, the newest at the end. */
  private kept: readonly Grant[] = [];
  /** The channels that it entered by a grant, and the last-ending grant that covers each. */
  private readonly entered = new Map<string, Hanging>();
  /** What the setting gives the user, and what it was made of. */
  private ofSetting:
    | { readonly from: AppGrants; readonly userId: string; readonly grant: Grant }
    | undefined;
  /** The token through which it is signed in; `undefined`: it is signed in otherwise, or not at all. */
  signedInBy: Grant | undefined;
  /** Subscriptions that wait for a sign-in, in their order, by the names of their channels. */
  readonly waiting = new Map<string, WaitingSubscription>();

  get all(): readonly Grant[] {
    return this.kept;
  }

  /** The live grant that a token gave, so that a token is verified once. */
  ofToken(token: string, nowMs: number): Grant | undefined {
    return this.kept.find((grant) => grant.token === token && grant.endsAtMs > nowMs);
  }

  add(grant: Grant): void {
    const others = this.kept.filter(({ token }) => token === undefined || token !== grant.token);
    this.kept = [...others.slice(1 - KEPT_MAX), grant];
    for (const hanging of this.entered.values()) {
      const isLater = grant.endsAtMs > hanging.grant.endsAtMs;
      if (isLater && covers(grant, hanging.channel, 'subscribe')) hanging.grant = grant;
    }
  }

  /** The last-ending live grant that gives a right in a channel. */
  covering(
    channel: ChannelName,
    right: Right,
    { nowMs, setting, userId }: Asked,
  ): Grant | undefined {
    let last: Grant | undefined;
    const more = [this.enteredBy(channel.text), this.grantOfSetting(setting, userId)];
    for (const grant of [...this.kept, ...more]) {
      if (grant === undefined) continue;
      if (grant.endsAtMs <= nowMs || !covers(grant, channel, right)) continue;
      if (last === undefined || grant.endsAtMs > last.endsAtMs) last = grant;
    }
    return last;
  }

  /** Notes that a channel is entered by a grant. */
  enter(channel: ChannelName, grant: Grant): void {
    this.entered.set(channel.text, { channel, grant });
  }

  leave(channel: string): void {
    this.entered.delete(channel);
  }

  /** The grant by which a channel was entered; `undefined`: it was entered by a signature. */
  enteredBy(channel: string): Grant | undefined {
    return this.entered.get(channel)?.grant;
  }

  private grantOfSetting(
    setting: AppGrants | undefined,
    userId: string | undefined,
  ): Grant | undefined {
    if (setting === undefined || userId === undefined) return undefined;
    if (this.ofSetting?.from !== setting || this.ofSetting.userId !== userId) {
      const patterns = patternsFor(setting.channels, userId);
      const grant: Grant = { patterns, endsAtMs: Number.POSITIVE_INFINITY, by: 'setting' };
      this.ofSetting = { from: setting, userId, grant };
    }
    return this.ofSetting.grant;
  }

  /** Whether something that hangs on a grant has outlived it. */
  hasEnded(nowMs: number): boolean {
    if (this.signedInBy !== undefined && this.signedInBy.endsAtMs <= nowMs) return true;
    for (const { grant } of this.entered.values()) if (grant.endsAtMs <= nowMs) return true;
    return false;
  }
}

interface Asked {
  readonly nowMs: number;
  /** `undefined`: the app takes grants no more. */
  readonly setting: AppGrants | undefined;
  /** Who is signed in. */
  readonly userId: string | undefined;
}

interface Hanging {
  readonly channel: ChannelName;
  grant: Grant;
}
