import type { Platform } from './device.ts';
import type { PublishId, PublishTarget } from './publish.ts';

/** A publish on its way to its devices, as whoever plans or delivers it holds it. */
export interface PublishUnderWay {
  readonly number: number;
  readonly id: PublishId;
  readonly instance: number;
  readonly kind: PublishTarget['kind'];
  /** As it came: target and payloads are read from it. */
  readonly body: string;
  readonly createdAtMs: number;
  /** When it was to go out. Its time to live counts from here. */
  readonly dueAtMs: number;
}

/** A publish whose audience is to be planned, from where planning has come to. */
export interface PlanningClaim {
  readonly publish: PublishUnderWay;
  /** The last device that was looked at already; 0: none. */
  readonly after: number;
}

/** Devices of one publish that are delivered together: the unit of work. */
export interface NewPage {
  /** Where planning had come to before this page. Somebody else has gone on where it is elsewhere by now. */
  readonly after: number;
  /** Where it has come to: the last device that was looked at, which need not be one of the page. */
  readonly upTo: number;
  /** The numbers of its devices, in device order; one at least. */
  readonly devices: readonly number[];
  /** How many of them are of each platform. */
  readonly planned: Readonly<Record<Platform, number>>;
  /** Whether planning ends with it. */
  readonly isLast?: boolean;
}

/** Work that nobody else does until `leasedUntilMs`. */
export type Job =
  /** A page, without its devices whose results are kept already. */
  | { readonly what: 'page'; readonly page: number; readonly job: JobOfPublish }
  /** Devices that wait for another attempt, all of one platform. */
  | {
      readonly what: 'retries';
      readonly platform: Platform;
      /** In device order, as in `job.devices`. */
      readonly retries: readonly DueRetry[];
      readonly job: JobOfPublish;
    };

export interface JobOfPublish {
  readonly publish: PublishUnderWay;
  /** In device order. Some may be gone since they were planned. */
  readonly devices: readonly number[];
  readonly leasedUntilMs: number;
}

export interface DueRetry {
  readonly device: number;
  /** Attempts so far. */
  readonly attempts: number;
}

/** Devices that wait for another attempt, all for the same reason. */
export interface WaitingDevices {
  readonly instance: number;
  readonly platform: Platform;
  readonly reason: string;
}

/** A place among the devices of an instance that wait, in the order in which they are due. */
export interface PlaceInLine {
  readonly dueAtMs: number;
  readonly publish: number;
  readonly device: number;
}

/**
 * What has become of one device of a job. A device that none is given for is gone: it counts as failed, for
 * `DEVICE_REMOVED`.
 */
export type DeviceResult =
  | {
      readonly what: 'accepted';
      readonly device: number;
      readonly platform: Platform;
      readonly userId: string | undefined;
      /** The token that was accepted, where no gateway had accepted it before: its device is marked. */
      readonly firstToken?: string;
    }
  | {
      readonly what: 'retry';
      readonly device: number;
      readonly platform: Platform;
      readonly attempts: number;
      readonly dueAtMs: number;
      readonly reason: string;
      readonly words: string;
    }
  | {
      readonly what: 'failed' | 'expired';
      readonly device: number;
      readonly platform: Platform;
      readonly userId: string | undefined;
      readonly attempts: number;
      readonly reason: string;
      readonly words: string;
    }
  /** Its token reaches nobody: the device is deleted, unless it holds another token by now. */
  | {
      readonly what: 'pruned';
      readonly device: number;
      readonly platform: Platform;
      /** The token that was tried. */
      readonly token: string;
      readonly attempts: number;
      readonly reason: string;
      readonly words: string;
    };

/** The reason of a device that was deleted after it was planned and before it was delivered to. */
export const DEVICE_REMOVED = 'device-removed';

/** What has become of a publish when a part of it was kept. */
export type AfterJob =
  | 'under-way'
  /** This was the last of it: told once. */
  | 'finished'
  | 'cancelled'
  /** Nothing was kept: somebody else has done the same already, or the publish is gone. */
  | 'stale';

/** What has become of a publish when results of a job were kept that goes on. */
export type AfterProgress = Exclude<AfterJob, 'finished'>;

/** Who was reached by a publish to users. Whoever of them is in neither list has no devices. */
export interface UsersReached {
  readonly delivered: readonly string[];
  readonly failed: readonly string[];
}

/** How much waits, with what is being worked on. */
export interface DeliveryBacklog {
  readonly pages: number;
  /** Those of a publish that was cancelled are among them until they would have been due. */
  readonly retries: number;
  /** When the first of all that waits is or was due, publishes to be planned among it; work that is claimed: when the claim ends. */
  readonly oldestDueAtMs: number | undefined;
}

/** One thing that happened on the way of a publish to one device. */
export interface DeviceEvent {
  readonly atMs: number;
  readonly what:
    | 'accepted'
    /** The last attempt was not the last one to be made. */
    | 'retry'
    | 'failed'
    | 'expired'
    | 'pruned'
    /** The publish was cancelled before another attempt was made. */
    | 'cancelled'
    /** As the device reports. */
    | 'delivered'
    | 'opened';
  /** Of the last attempt that failed, also where a later one did not. */
  readonly reason: string;
  readonly words: string;
  readonly attempts: number;
}

/** What is known of one device and one publish. */
export interface DeviceStory {
  readonly platform: Platform;
  /** Whom the publish is for: what `matches` is about. */
  readonly kind: PublishTarget['kind'];
  readonly page: /** Planning has not come to it yet. */
    | 'ahead'
    /** It is not in the audience. */
    | 'none'
    | 'waiting'
    | 'delivered'
    | 'cancelled';
  readonly registeredAtMs: number;
  /** Why the device is gone, where its token reached nobody any more; kept for 30 days. */
  readonly removed:
    | { readonly atMs: number; readonly reason: string; readonly words: string }
    | undefined;
  /**
   * Whether the publish names one of its interests, or its user, as they are now. `undefined`: whom the publish was
   * for is not known any more.
   */
  readonly matches: boolean | undefined;
  /** Whether the publish has a payload for its platform. */
  readonly hasPayload: boolean;
  /** When its next attempt is due, where there is one. */
  readonly nextAttemptAtMs: number | undefined;
  /** In the order of time. */
  readonly events: readonly DeviceEvent[];
}
