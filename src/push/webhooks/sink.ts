import type { BeamsEventType } from '../instance.ts';
import type { PublishId, PublishStatus } from '../publish.ts';
import type { UserReport, UsersAttempted } from './beams-webhook.ts';

/**
 * Hears what webhooks of instances and of publishes tell. It looks itself who wants to know, returns at once, keeps
 * nobody waiting, never throws, and bounds what it holds. What it was told is durable soon after, so whoever dies
 * before may tell it again: endpoints then hear of it twice, under the same id.
 */
export interface PushWebhookSink {
  /** `body` is that of the publish, as it came. */
  publishStarted(instanceId: string, publishId: PublishId, body: string): void;
  publishFinished(
    instanceId: string,
    publishId: PublishId,
    body: string,
    counts: PublishStatus['platforms'],
  ): void;
  /** A publish to users is finished. Who of them has no devices need not be found out where nobody wants to know. */
  usersAttempted(instanceId: string, publishId: PublishId, users: UsersAttempted): void;
  /** A report was kept, of a device that belongs to this user. */
  reported(instanceId: string, report: UserReport): void;
  /** Whether a webhook of the instance wants to know of such events. */
  wants(instanceId: string, type: BeamsEventType): boolean;
}
