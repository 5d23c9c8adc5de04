import { OldestFirst } from '../../runtime/oldest-first.ts';
import type { Timers } from '../../runtime/ports.ts';
import { RateLimiter } from '../../runtime/rates/rate-limiter.ts';
import { type Rate, TokenBucket } from '../../runtime/rates/token-bucket.ts';
import type { App } from '../app.ts';
import type { Session } from '../subscribing/session.ts';

/**
 * Comparisons of tokens with public keys that were for nothing, because the token is refused or known already. One takes up to
 * 0.1 ms, and the answer as long, so these take a tenth of the loop at most, and a millisecond at once.
 */
const WASTED: Rate = { perSecond: 500, burst: 5 };

/** Those of one app that make none of its tokens wait, whatever others do. */
const WASTED_OF_APP: Rate = { perSecond: 1, burst: 5 };

/** How often tokens that wait are verified, and how many at once, if all of them are accepted. Milliseconds. */
const EVERY_MS = 10;
const AT_ONCE = 20;

/** By app, then by address, then by session. The oldest is next, and becomes the newest. */
type Waiting = OldestFirst<App, OldestFirst<string | number, OldestFirst<Session, () => void>>>;

interface TokenTurnsOptions {
  /** With a monotonic clock. */
  readonly timers: Timers;
  /** The address of a session's client. */
  readonly addressOf: (session: Session) => string | number;
}

/**
 * Bounds what this loop spends on tokens that it refuses: comparing a signature with a public key takes as long as many frames.
 * Beyond the bound, tokens wait for their turn. Apps take turns, then addresses of clients, then their connections. So a flood
 * delays sign-ins of its own app, mostly those of its own addresses. A connection has one token here, as its frames are answered
 * one after the other.
 */
export class TokenTurns {
  private readonly options: TokenTurnsOptions;
  private readonly wasted: TokenBucket;
  private readonly wastedOf = new RateLimiter<string>();
  private readonly waiting: Waiting = new OldestFirst();
  private count = 0;
  private isPlanned = false;

  constructor(options: TokenTurnsOptions) {
    this.options = options;
    this.wasted = new TokenBucket(WASTED, options.timers.now());
  }

  /** How many tokens wait. */
  get size(): number {
    return this.count;
  }

  /** Whether a token of an app need not wait. */
  isOpen(app: App): boolean {
    const nowMs = this.options.timers.now();
    if (this.count === 0 && this.wasted.has(WASTED, nowMs)) return true;
    return this.wastedOf.has(app.id, WASTED_OF_APP, nowMs);
  }

  /** Calls `verify` when it is the turn of the session; never, if its connection ends before. */
  wait<T>(session: Session, verify: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.waiting
      .getOrInsertComputed(session.app, () => new OldestFirst())
      .getOrInsertComputed(this.options.addressOf(session), () => new OldestFirst())
      .set(session, () => void Promise.try(verify).then(resolve, reject));
    this.count += 1;
    this.plan();
    return promise;
  }

  /** Notes comparisons that were for nothing. */
  charge(app: App, comparisons: number): void {
    if (comparisons === 0) return;
    const nowMs = this.options.timers.now();
    this.wasted.has(WASTED, nowMs);
    this.wasted.charge(comparisons);
    // Not below zero: the app would be suspected for long after a flood.
    const left = this.wastedOf.left(app.id, WASTED_OF_APP, nowMs);
    this.wastedOf.charge(app.id, WASTED_OF_APP, nowMs, Math.min(comparisons, left));
  }

  isWaiting(session: Session): boolean {
    return this.count > 0 && this.ofAddress(session)?.has(session) === true;
  }

  /** Drops the token of a session whose connection has ended. */
  forget(session: Session): void {
    if (this.count > 0) this.take(session);
  }

  private ofAddress(session: Session): OldestFirst<Session, () => void> | undefined {
    return this.waiting.get(session.app)?.get(this.options.addressOf(session));
  }

  private take(session: Session): (() => void) | undefined {
    const ofApp = this.waiting.get(session.app);
    const ofAddress = this.ofAddress(session);
    const verify = ofAddress?.get(session);
    if (ofApp === undefined || ofAddress === undefined || verify === undefined) return undefined;
    this.count -= 1;
    ofAddress.delete(session);
    if (ofAddress.size === 0) ofApp.delete(this.options.addressOf(session));
    if (ofApp.size === 0) this.waiting.delete(session.app);
    return verify;
  }

  private plan(): void {
    if (this.isPlanned || this.count === 0) return;
    this.isPlanned = true;
    this.options.timers.after(EVERY_MS, () => {
      this.isPlanned = false;
      for (let n = 0; n < AT_ONCE && this.wasted.has(WASTED, this.options.timers.now()); n += 1) {
        this.verifyNext();
      }
      this.plan();
    });
  }

  private verifyNext(): void {
    const app = this.waiting.oldest();
    const ofApp = app && this.waiting.get(app);
    const address = ofApp?.oldest();
    const ofAddress = address === undefined ? undefined : ofApp?.get(address);
    const session = ofAddress?.oldest();
    if (!(app && ofApp && address !== undefined && ofAddress && session)) return;
    this.waiting.set(app, ofApp);
    ofApp.set(address, ofAddress);
    this.take(session)?.();
  }
}
