import type { BeamsEventType } from '../model/instance.ts';
import type { PublishId, PublishStatus } from '../model/publish.ts';
import type { UserReport, UsersAttempted } from './beams-webhook.ts';

/** Something that happened to a publish. */
export interface ToldPublish {
  readonly id: PublishId;
  /** As it came. */
  readonly body: string;
  /** The same whenever it is told again: the ids of requests follow from it. */
  readonly atMs: number;
}

/** The end of a publish. */
export interface ToldEnd extends ToldPublish {
  /** The `atMs` that its start was told with, which is sent first. */
  readonly startedAtMs: number;
}

/**
 * Hears what webhooks of instances and of publishes tell. It looks itself who wants to know, never throws, and bounds
 * what it holds. What it was told of publishes is durable when it settles, or nobody wants to know, or it was dropped
 * because there was no room for it; where the server ends before that, it never settles. Whoever dies before may tell
 * it again: it is then sent once all the same, as long as what was sent is kept.
 */
export interface PushWebhookSink {
  publishStarted(instanceId: string, publish: ToldPublish): Promise<void>;
  publishFinished(
    instanceId: string,
    publish: ToldEnd,
    counts: PublishStatus['platforms'],
  ): Promise<void>;
  /** A publish to users is finished. Who of them has no devices need not be found out where nobody wants to know. */
  usersAttempted(
    instanceId: string,
    publish: Pick<ToldPublish, 'id' | 'atMs'>,
    users: UsersAttempted,
  ): Promise<void>;
  /** A report was kept, of a device that belongs to this user. */
  reported(instanceId: string, report: UserReport): void;
  /** Whether a webhook of the instance wants to know of such events. */
  wants(instanceId: string, type: BeamsEventType): boolean;
}
