import type { ApnsAudience } from './apns-push-types.ts';
import type { Platform } from './device.ts';
import type { NewDevicePause, ShownPause } from './device-pause.ts';
import type { StoredLiveUser } from './live.ts';
import type { LocalTime } from './local-time.ts';
import type { TakenTimes } from './pace.ts';
import type { Preferences } from './preferences.ts';
import type { PublishId, PublishTarget } from './publish.ts';
import type { DeviceKind } from './token-kind.ts';

/** A publish that is being planned or delivered. */
export interface PublishUnderWay {
  readonly number: number;
  readonly id: PublishId;
  readonly instance: number;
  readonly kind: PublishTarget['kind'];
  /** The request as received, with target and payloads. */
  readonly body: string;
  readonly createdAtMs: number;
  /** When it was to be sent. Its time to live starts here. */
  readonly dueAtMs: number;
}

/** What to claim, and for how long. */
export interface ClaimTerms {
  readonly nowMs: number;
  /** When the claims expire. */
  readonly untilMs: number;
  readonly limit: number;
}

export interface ClaimOptions extends ClaimTerms {
  /** Instances to skip: their work is as much as this server wants, or their gateways are unreachable. */
  readonly except: readonly number[];
}

/** A publish whose audience is to be read, and how far planning has come. */
export interface ClaimedPlan {
  readonly publish: PublishUnderWay;
  /** The last device that was read; 0: none. */
  readonly after: number;
  /** When its pages so far are sent, if the publish says how many notifications per second. */
  readonly taken?: TakenTimes | undefined;
  /** `undefined`: the publish has no live part. */
  readonly live?: PlanLive | undefined;
}

/** How the live part of a publish changes its plan: its users must be asked first, or some were reached and are left out. */
export type PlanLive = 'to-be-asked' | { readonly reached: readonly string[] };

/** Devices of one publish that are delivered together. */
export interface NewPage {
  /** The state of planning before this page. If the store has another, another server has continued the plan. */
  readonly after: number;
  /** How far it has come now: the last device that was read, which may be in no page. */
  readonly upTo: number;
  /** The numbers of its devices, ascending; at least one. */
  readonly devices: readonly number[];
  /** How many of them each platform has. */
  readonly planned: Readonly<Record<Platform, number>>;
  /** Whether it ends planning. */
  readonly isLast?: boolean;
  /** Its devices that are due later than the publish: by time, ascending, and each device once. */
  readonly dues?: readonly LaterDue[] | undefined;
  /** Its devices that do not get it. Whoever claims the page settles them without sending. */
  readonly leftOut?: readonly LeftOutDevices[] | undefined;
  /** When it and the pages before are sent, if the publish says how many notifications per second. */
  readonly taken?: TakenTimes | undefined;
}

/** Why a device of a page does not get it. */
export interface LeftOut {
  readonly what: 'failed' | 'expired';
  readonly reason: string;
  readonly words: string;
}

/** Devices that do not get it for the same reason. */
export interface LeftOutDevices extends LeftOut {
  readonly devices: readonly number[];
}

/** Devices of a page that are due at a time of their own. */
export interface LaterDue {
  readonly atMs: number;
  /** For how much of that they wait only because of the `perSecond` of the publish. */
  readonly pacedMs?: number | undefined;
  readonly devices: readonly number[];
}

/** A claimed unit of delivery: no other server works on it until `claimedUntilMs`. */
export type Job = PageJob | RetryJob;

interface ClaimedDevices {
  readonly publish: PublishUnderWay;
  /** Ascending. Some may have been deleted since they were planned. */
  readonly devices: readonly number[];
  readonly claimedUntilMs: number;
}

/** A page, without the devices whose results are recorded already, and without those that are due later. */
export interface PageJob extends ClaimedDevices {
  readonly what: 'page';
  readonly page: number;
  /** When further devices of the page are due; `undefined`: these are the last. */
  readonly nextDueMs?: number | undefined;
  /** Devices that do not get it, by their numbers. */
  readonly leftOut?: ReadonlyMap<number, LeftOut> | undefined;
  /** See `LaterDue`. By the numbers of devices; those that are missing have not waited. */
  readonly pacedMs?: ReadonlyMap<number, number> | undefined;
}

/** Devices that are due for another attempt, all of one platform. */
export interface RetryJob extends ClaimedDevices {
  readonly what: 'retries';
  readonly platform: Platform;
  /** In the order of `devices`. */
  readonly retries: readonly DueRetry[];
}

export interface DueRetry {
  readonly device: number;
  /** Attempts made so far. */
  readonly attempts: number;
  /** See `LaterDue`. */
  readonly pacedMs?: number | undefined;
  /** The reason for which it is not tried any more. */
  readonly endedFor?: string | undefined;
  /** Whether it came back because its turn took too long: see `WAITED_FOR_ITS_TURN`. */
  readonly hasWaited?: boolean | undefined;
}

/** Selects the retries of an instance and platform that wait for the same reason. */
export interface WaitingRetries {
  readonly instance: number;
  readonly platform: Platform;
  readonly reason: string;
}

/** A place among the waiting retries of an instance, which are ordered by when they are due. */
export interface RetryCursor {
  readonly dueAtMs: number;
  readonly publish: number;
  readonly device: number;
}

/** Results to record for a job. */
export interface JobResults {
  readonly job: Job;
  readonly results: readonly DeviceResult[];
  readonly nowMs: number;
}

/** The result of one device of a job. A device without one was deleted: it counts as failed, for `DEVICE_REMOVED`. */
export type DeviceResult =
  | {
      readonly what: 'accepted';
      readonly device: number;
      readonly platform: Platform;
      readonly userId: string | undefined;
      /** The accepted token, if no gateway had accepted it before; its device is then marked. */
      readonly firstToken?: string;
      /** Whether the pause of the device is over, which is in the store. */
      readonly endsPause?: true;
    }
  | {
      readonly what: 'retry';
      readonly device: number;
      readonly platform: Platform;
      readonly attempts: number;
      /** See `LaterDue`: it is kept for the next attempt. */
      readonly pacedMs?: number | undefined;
      /** For `DEVICE_PAUSED` later, if older publishes wait for the device. */
      readonly dueAtMs: number;
      readonly reason: string;
      readonly words: string;
      /** The pause that begins with this result. */
      readonly pause?: NewDevicePause | undefined;
    }
  | {
      readonly what: 'failed' | 'expired';
      readonly device: number;
      readonly platform: Platform;
      readonly userId: string | undefined;
      readonly attempts: number;
      readonly reason: string;
      readonly words: string;
      readonly pause?: NewDevicePause | undefined;
    }
  /** The token is dead: the device is deleted, unless it has another token by now. */
  | {
      readonly what: 'pruned';
      readonly device: number;
      readonly platform: Platform;
      /** The token that was tried. */
      readonly token: string;
      /** When the device had been seen last at that time. */
      readonly seenAtMs: number;
      readonly attempts: number;
      readonly reason: string;
      readonly words: string;
    };

/** The reason of a device that could not wait in memory for its turn, because others took too long. */
export const WAITED_FOR_ITS_TURN = 'waited-for-its-turn';

/** The reason of a device that was deleted between planning and delivery. */
export const DEVICE_REMOVED = 'device-removed';

/** The state of a publish after some results were recorded. */
export type AfterJob =
  | 'under-way'
  /** The results were the last ones. Returned once per publish. */
  | 'finished'
  | 'cancelled'
  /** Nothing was recorded: another server has done so already, or the publish was deleted. */
  | 'stale';

/** The state of a publish after some results of a job were recorded, and others are in flight. */
export type AfterPart = Exclude<AfterJob, 'finished'>;

/** The users of a publish, by whether it reached one of their devices. Users without devices are in neither list. */
export interface UsersReached {
  readonly delivered: readonly string[];
  readonly failed: readonly string[];
  /** Users who got it in the app; `undefined`: the publish has no live part. */
  readonly live?: readonly string[] | undefined;
}

/** The amount of work, including claimed work. */
export interface DeliveryBacklog {
  readonly pages: number;
  /** Includes retries of cancelled publishes, until they would have been due. */
  readonly retries: number;
  /** When the earliest work is or was due, plans included. Claimed work counts by when its claim expires. */
  readonly oldestDueAtMs: number | undefined;
}

/** One event in the delivery of a publish to a device. */
export interface DeviceEvent {
  readonly atMs: number;
  readonly what:
    | 'accepted'
    /** The last attempt failed, and another follows. */
    | 'retry'
    | 'failed'
    | 'expired'
    | 'pruned'
    /** The publish was cancelled before the next attempt. */
    | 'cancelled'
    /** Reported by the device. */
    | 'delivered'
    | 'opened';
  /** The reason of the last attempt that failed, even if a later one succeeded. */
  readonly reason: string;
  readonly words: string;
  readonly attempts: number;
}

/** When a device is due that is due later than its publish. */
export interface StoredDueTime {
  readonly atMs: number;
  /** The local time of the publish; `undefined`: quiet hours are why. */
  readonly local: LocalTime | undefined;
  /** How many notifications the publish sends per second, if others are sent before this one for that reason. */
  readonly perSecond?: number | undefined;
}

/** What happened to a publish at one device. */
export interface DeviceStory {
  readonly platform: Platform;
  /** Whether `matches` is about interests or about the user. */
  readonly kind: PublishTarget['kind'];
  readonly page: /** Planning has not reached it yet. */
    | 'ahead'
    /** The device is not in the audience. */
    | 'none'
    | 'waiting'
    | 'delivered'
    | 'cancelled';
  readonly registeredAtMs: number;
  /** Why the device was deleted, if its token was dead. Kept for 30 days. */
  readonly removed:
    | { readonly atMs: number; readonly reason: string; readonly words: string }
    | undefined;
  /**
   * Whether the publish names one of the device's current interests, or its current user. `undefined`: the target of
   * the publish is no longer known.
   */
  readonly matches: boolean | undefined;
  /** Whether the publish has a payload for its platform. */
  readonly hasPayload: boolean;
  /** When it is due, if that is later than the publish. */
  readonly due?: StoredDueTime | undefined;
  /** What is known of the device, or else of its user. */
  readonly preferences?: Preferences | undefined;
  /** The text that it gets in its present language; `undefined`: what the payload says. */
  readonly text?: { readonly language: string; readonly of: string } | undefined;
  /** What its token is for; `undefined`: an ordinary one, or no longer known. */
  readonly tokenKind?: DeviceKind | undefined;
  /** Which of Apple's tokens the publish is for; `undefined`: ordinary ones, which get an alert. */
  readonly apns?: ApnsAudience | undefined;
  /** The live result of its user; `undefined`: none, or unknown. */
  readonly live?: StoredLiveUser | undefined;
  /** The last pause of the device, if it is in the store. */
  readonly pause?: ShownPause | undefined;
  /** When its next attempt is due, if there is one. */
  readonly nextAttemptAtMs: number | undefined;
  /** The oldest first. */
  readonly events: readonly DeviceEvent[];
}
