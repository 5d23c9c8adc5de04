import type { Platform } from './device.ts';
import type { PublishId, PublishTarget } from './publish.ts';

/** A publish that is being planned or delivered. */
export interface PublishUnderWay {
  readonly number: number;
  readonly id: PublishId;
  readonly instance: number;
  readonly kind: PublishTarget['kind'];
  /** The stored body: target and payloads are read from it. */
  readonly body: string;
  readonly createdAtMs: number;
  /** When it was accepted or scheduled to be sent. Its time to live starts here. */
  readonly dueAtMs: number;
}

/** A claimed publish whose planning goes on. */
export interface PlanningClaim {
  readonly publish: PublishUnderWay;
  /** The last device that was read; 0: none. */
  readonly after: number;
}

/** Devices of one publish that are delivered together: the unit of work and of recovery. */
export interface NewPage {
  /** The last device read before this page. If the store has another one, planning went on elsewhere. */
  readonly after: number;
  /** The last device read, which need not be on the page. */
  readonly upTo: number;
  /** The numbers of its devices, in device order. At least one. */
  readonly devices: readonly number[];
  /** The number of devices of each platform. */
  readonly planned: Readonly<Record<Platform, number>>;
  /** Set if planning ends with it. */
  readonly isLast?: boolean;
}

/** Work that this server has claimed until `leasedUntilMs`. */
export type Job =
  /** A page, without the devices whose results are stored. */
  | { readonly what: 'page'; readonly page: number; readonly job: JobOfPublish }
  /** Devices that are due for a retry, all of one platform. */
  | {
      readonly what: 'retries';
      readonly platform: Platform;
      /** In device order, as in `job.devices`. */
      readonly retries: readonly DueRetry[];
      readonly job: JobOfPublish;
    };

export interface JobOfPublish {
  readonly publish: PublishUnderWay;
  /** In device order. Some may have been deleted since they were planned. */
  readonly devices: readonly number[];
  readonly leasedUntilMs: number;
}

export interface DueRetry {
  readonly device: number;
  /** Attempts so far. */
  readonly attempts: number;
}

/** Devices that wait for a retry for the same reason. */
export interface WaitingDevices {
  readonly instance: number;
  readonly platform: Platform;
  readonly reason: string;
}

/** A position among the waiting devices of an instance, in the order in which they are due. */
export interface PlaceInLine {
  readonly dueAtMs: number;
  readonly publish: number;
  readonly device: number;
}

/** The result for one device of a job. A device without a result was deleted: it counts as failed for `DEVICE_REMOVED`. */
export type DeviceResult =
  | {
      readonly what: 'accepted';
      readonly device: number;
      readonly platform: Platform;
      readonly userId: string | undefined;
      /** The accepted token, if no gateway had accepted it before: its device is marked as accepted. */
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
  /** Its token is no longer valid: the device is deleted, unless it has another token by now. */
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

/** The reason for a device that was deleted between planning and delivery. */
export const DEVICE_REMOVED = 'device-removed';

/** The state of a publish after results were stored. */
export type AfterJob =
  | 'under-way'
  /** These were its last results. Returned once. */
  | 'finished'
  | 'cancelled'
  /** Nothing was stored: another server did the same already, or the publish is gone. */
  | 'stale';

/** The state of a publish after results of an unfinished job were stored. */
export type AfterProgress = Exclude<AfterJob, 'finished'>;

/** The users that a publish reached, and those it did not. Users in neither list have no devices. */
export interface UsersReached {
  readonly delivered: readonly string[];
  readonly failed: readonly string[];
}

/** How much work waits or is in progress. */
export interface DeliveryBacklog {
  readonly pages: number;
  /** Includes those of cancelled publishes until they are due. */
  readonly retries: number;
  /** When the first of all that waits is or was due, publishes to be planned among it; work that is claimed: when the claim ends. */
  readonly oldestDueAtMs: number | undefined;
}

/** One step in the delivery of a publish to a device. */
export interface DeviceEvent {
  readonly atMs: number;
  readonly what:
    | 'accepted'
    /** An attempt failed, and another one follows. */
    | 'retry'
    | 'failed'
    | 'expired'
    | 'pruned'
    /** The publish was cancelled before the next attempt. */
    | 'cancelled'
    /** Reported by the device. */
    | 'delivered'
    | 'opened';
  /** The reason of the last failed attempt, even if a later one succeeded. */
  readonly reason: string;
  readonly words: string;
  readonly attempts: number;
}

/** What is known about one device and one publish. */
export interface DeviceStory {
  readonly platform: Platform;
  /** Whether the publish is for interests or users. */
  readonly kind: PublishTarget['kind'];
  readonly page: /** Planning has not reached the device yet. */
    | 'ahead'
    /** The device is not in the audience. */
    | 'none'
    | 'waiting'
    | 'delivered'
    | 'cancelled';
  readonly registeredAtMs: number;
  /** Why the device was removed, if its token was no longer valid. Kept for 30 days. */
  readonly removed:
    | { readonly atMs: number; readonly reason: string; readonly words: string }
    | undefined;
  /**
   * Whether the publish names one of the device's present interests, or its present user. `undefined`: the names are
   * no longer known.
   */
  readonly matches: boolean | undefined;
  /** Whether the publish has a payload for its platform. */
  readonly hasPayload: boolean;
  /** When the next attempt is due, if there is one. */
  readonly nextAttemptAtMs: number | undefined;
  /** The oldest first. */
  readonly events: readonly DeviceEvent[];
}
