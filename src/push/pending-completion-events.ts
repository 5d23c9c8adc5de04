import type { PublishUnderWay } from './model/delivery.ts';
import type { PublishTarget } from './model/publish.ts';
import { publishWebhookUrl } from './webhooks/publish-webhook.ts';

/** How long whoever has finished a publish has to tell of it before others do. */
export const TOLD_WITHIN_MS = 10_000;

/** A publish that is finished, and of which its webhooks may not know that. */
export interface UntoldEnd {
  readonly publish: PublishUnderWay;
  readonly finishedAtMs: number;
}

/**
 * Keeps which publishes have ended without their webhooks having been told for certain. The commit that finishes a
 * publish with something to tell adds it; whoever has put the requests that tell of it into the store takes it
 * away. So one is told at least once, whoever dies in between.
 */
export interface UntoldEnds {
  /** When it was finished; `undefined` where there is nothing to tell, or no longer. */
  finishedAtMs(publish: number): Promise<number | undefined>;
  /**
   * Gives some that were to be told by `nowMs`, those first that have waited longest, and nobody else those until
   * `untilMs`. What was finished is to be told by others `TOLD_WITHIN_MS` later.
   */
  claim(nowMs: number, untilMs: number, most: number): Promise<readonly UntoldEnd[]>;
  /** Takes one away; nothing where it is not there. Durable when it settles. */
  remove(publish: number): Promise<void>;
}

/**
 * Whether the end of such a publish is to be told to anybody. Of users, to the webhooks of the instance, which may
 * be others by then.
 */
export function hasEndToTell(kind: PublishTarget['kind'], body: string): boolean {
  return kind === 'users' || publishWebhookUrl(body) !== undefined;
}
