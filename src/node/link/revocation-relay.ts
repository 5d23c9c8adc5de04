import type { Revocation } from '../../channels/grants/revocations.ts';
import type { RevokeOutcome } from '../../channels/hub.ts';
import type { Timers } from '../../runtime/ports.ts';

/** The limit of revocations of one app that wait for the store at the same time. */
export const WAITING_MAX = 20;

/** How long a backend waits for the store. */
const ANSWER_WITHIN_MS = 5000;

/** What the background loop says of a revocation. */
export type StoredOutcome = Extract<RevokeOutcome, 'revoked' | 'too-many' | 'away'>;

export interface RevocationRelayOptions {
  readonly send: (number: number, revocation: Revocation) => void;
  /** Whether other servers have a store that this one does not see. */
  readonly isStoreOwn: boolean;
  readonly timers: Timers;
}

interface Waiting {
  readonly appId: string;
  readonly answer: (outcome: RevokeOutcome) => void;
}

/** Hands revocations of backends to the background loop, which stores them. */
export class RevocationRelay {
  private readonly options: RevocationRelayOptions;
  private readonly waiting = new Map<number, Waiting>();
  private readonly byApp = new Map<string, number>();
  private last = 0;

  constructor(options: RevocationRelayOptions) {
    this.options = options;
  }

  /** Settles when all loops of this server know the revocation, or with why they do not. Never rejects. */
  revoke(revocation: Revocation): Promise<RevokeOutcome> {
    const { send, isStoreOwn, timers } = this.options;
    const { appId } = revocation;
    if (isStoreOwn) return Promise.resolve('not-shared');
    const count = this.byApp.get(appId) ?? 0;
    if (count >= WAITING_MAX) return Promise.resolve('too-many-at-once');
    this.byApp.set(appId, count + 1);
    const number = ++this.last;
    const { promise, resolve } = Promise.withResolvers<RevokeOutcome>();
    const cancel = timers.after(ANSWER_WITHIN_MS, () => this.answered(number, 'away'));
    this.waiting.set(number, {
      appId,
      answer: (outcome) => {
        cancel();
        resolve(outcome);
      },
    });
    send(number, revocation);
    return promise;
  }

  /** The background loop has answered. It may be too late. */
  answered(number: number, outcome: StoredOutcome): void {
    const waiting = this.waiting.get(number);
    if (waiting === undefined) return;
    this.waiting.delete(number);
    const { appId, answer } = waiting;
    const left = (this.byApp.get(appId) ?? 1) - 1;
    if (left === 0) this.byApp.delete(appId);
    else this.byApp.set(appId, left);
    answer(outcome);
  }
}
