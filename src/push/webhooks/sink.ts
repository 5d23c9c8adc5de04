import type { BeamsEventType } from '../model/instance.ts';
import type { PublishId, PublishStatus } from '../model/publish.ts';
import type { UserReport, UsersAttempted } from './beams-webhook.ts';

/** A publish whose sending has started. */
export interface StartedPublish {
  readonly id: PublishId;
  /** As the backend sent it. */
  readonly body: string;
  /** The time of the event. Must be the same each time it is reported: ids of requests are derived from it. */
  readonly atMs: number;
}

/** A publish that is finished. `atMs` is the time of its end. */
export interface FinishedPublish extends StartedPublish {
  /** The `atMs` with which its start was reported. The start is sent first. */
  readonly startedAtMs: number;
  readonly counts: PublishStatus['platforms'];
  /** `undefined`: it has no live part. */
  readonly live?: PublishStatus['live'];
}

/** A publish to users that is finished. */
export interface AttemptedPublish extends UsersAttempted {
  readonly id: PublishId;
  /** The time of its end. */
  readonly atMs: number;
}

/**
 * Takes events for the webhooks of instances and publishes. An implementation must find out itself which webhooks want an
 * event, must never throw, and must bound its memory. The promise for an event settles once the event is durable, or no
 * webhook wants it, or it was dropped for lack of room; it never settles if the server stops before. Callers may then
 * report the event again: it is still sent only once, as long as the log keeps sent requests.
 */
export interface PushWebhookSink {
  publishStarted(instanceId: string, publish: StartedPublish): Promise<void>;
  publishFinished(instanceId: string, publish: FinishedPublish): Promise<void>;
  /** A publish to users is finished. Ask `wants` first: finding the users without devices is expensive. */
  usersAttempted(instanceId: string, publish: AttemptedPublish): Promise<void>;
  /** A report of a device of this user was stored. */
  reported(instanceId: string, report: UserReport): void;
  /** Whether a webhook of the instance wants this type of event. */
  wants(instanceId: string, type: BeamsEventType): boolean;
}
