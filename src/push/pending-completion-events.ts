import type { ClaimTerms, PublishUnderWay } from './model/delivery.ts';
import type { PublishTarget } from './model/publish.ts';
import { publishWebhookUrl } from './webhooks/publish-webhook.ts';

/** How long the server that finished a publish has to report it before another server does. */
export const COMPLETION_GRACE_MS = 10_000;

/** A finished publish whose webhooks may not have been notified. */
export interface PendingCompletionEvent {
  readonly publish: PublishUnderWay;
  readonly finishedAtMs: number;
}

/**
 * Stores which finished publishes still need completion events. The commit that finishes a publish adds it; the server
 * that has put its webhook requests into the store removes it. So each is reported at least once, even across crashes.
 */
export interface PendingCompletionEvents {
  /** When the publish was finished; `undefined`: nothing is pending. */
  finishedAtMs(publish: number): Promise<number | undefined>;
  /**
   * Claims some, those first that have waited longest. They become due `COMPLETION_GRACE_MS` after the
   * publish was finished; at once if it gave way, because no server reports that.
   */
  claim(wanted: ClaimTerms): Promise<readonly PendingCompletionEvent[]>;
  /** Removes one, if it is there. Durable when it settles. */
  remove(publish: number): Promise<void>;
}

/**
 * Whether a publish has completion events. Every publish to users does: the webhooks of its instance may change until
 * it is finished.
 */
export function hasCompletionEvents(kind: PublishTarget['kind'], body: string): boolean {
  return kind === 'users' || publishWebhookUrl(body) !== undefined;
}
