import type { ChannelText } from '../channels/channel-name.ts';
import type { EventId } from '../channels/history/event-id.ts';
import { FairBudget } from '../runtime/fairness/fair-budget.ts';
import { OldestFirst } from '../runtime/oldest-first.ts';
import type { Clock } from '../runtime/ports.ts';

/** How long a key is remembered. Milliseconds. */
export const PUBLISHED_KEY_MS = 300_000;

/** The limit of expired keys of one app that are removed at once. */
const FORGOTTEN_AT_ONCE = 100;

/** An event that was published with an idempotency key. */
export interface PublishedEvent {
  /** `undefined`: the channel keeps no history. */
  readonly id: EventId | undefined;
}

interface Kept extends PublishedEvent {
  readonly expiresAtMs: number;
}

/**
 * The events that were published with an idempotency key, by app, channel and key. At the limit, the app with the
 * most keys loses its oldest one.
 */
export class PublishedKeys {
  /** By app, in insertion order, which is also the order of expiry. The apps are in the order of their latest key. */
  private readonly apps = new OldestFirst<string, OldestFirst<string, Kept>>();
  private readonly budget: FairBudget;
  private readonly clock: Clock;

  /** `max`: the limit for all apps. Each key takes about 300 bytes. `clock` must be monotonic: one that is set forward would forget keys too early. */
  constructor(max: number, clock: Clock) {
    this.budget = new FairBudget(max);
    this.clock = clock;
  }

  get size(): number {
    return this.budget.total;
  }

  find(appId: string, channel: ChannelText, key: string): PublishedEvent | undefined {
    const kept = this.apps.get(appId)?.get(nameOf(channel, key));
    return kept === undefined || kept.expiresAtMs <= this.clock.now() ? undefined : kept;
  }

  /** Remembers an event that was just published. */
  add(appId: string, channel: ChannelText, { key, id }: PublishedEvent & { readonly key: string }) {
    const name = nameOf(channel, key);
    this.forget(appId, name);
    this.forgetExpired(appId);
    const idle = this.apps.oldest();
    if (idle !== undefined) this.forgetExpired(idle);
    for (;;) {
      const yielding = this.budget.ownerToEvict(appId);
      if (yielding === undefined) break;
      const oldest = this.apps.get(yielding)?.oldest();
      if (oldest === undefined) return;
      this.forget(yielding, oldest);
    }
    const keys = this.apps.get(appId) ?? new OldestFirst<string, Kept>();
    this.apps.set(appId, keys);
    keys.set(name, { id, expiresAtMs: this.clock.now() + PUBLISHED_KEY_MS });
    this.budget.add(appId);
  }

  /** Forgets all keys of an app. */
  forgetApp(appId: string): void {
    this.budget.release(appId, this.apps.get(appId)?.size ?? 0);
    this.apps.delete(appId);
  }

  private forgetExpired(appId: string): void {
    const keys = this.apps.get(appId);
    const nowMs = this.clock.now();
    for (let n = 0; n < FORGOTTEN_AT_ONCE; n++) {
      const oldest = keys?.oldest();
      const expiresAtMs = oldest === undefined ? undefined : keys?.get(oldest)?.expiresAtMs;
      if (oldest === undefined || expiresAtMs === undefined) return;
      if (expiresAtMs > nowMs) return;
      this.forget(appId, oldest);
    }
  }

  private forget(appId: string, name: string): void {
    const keys = this.apps.get(appId);
    if (keys?.delete(name) !== true) return;
    this.budget.release(appId);
    if (keys.size === 0) this.apps.delete(appId);
  }
}

/** Neither channels nor keys contain spaces. */
function nameOf(channel: ChannelText, key: string): string {
  return `${channel} ${key}`;
}
