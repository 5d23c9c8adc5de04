/** The bounds of the delivery pipeline, and what happens at each of them. */
export interface DeliveryLimits {
  /** Devices of an audience that are read, delivered and stored together. */
  readonly pageDevices: number;
  /** The limits of concurrent plans: of all instances, and of one. */
  readonly plans: number;
  readonly plansOfInstance: number;
  /**
   * Below this number of plans, one instance may have more than `plansOfInstance`: small publishes that are planned
   * together share their cost, and the other instances have the rest of `plans`.
   */
  readonly plansOfAny: number;
  /**
   * Devices of one instance and platform in memory. Beyond it, pages stay in the store. One claim may exceed it.
   */
  readonly platformDevices: number;
  /**
   * Devices of all instances in memory; large publish bodies count as more. Beyond it, only instances without jobs get
   * one.
   */
  readonly sharedDevices: number;
  /** Jobs of one instance in memory. Jobs that only wait for untrusted devices do not count. */
  readonly instanceJobs: number;
  /** Pages of an instance that this server may leave in the store. Beyond it, planning of that instance waits. */
  readonly pagesAhead: number;
  /** How far ahead a publish is planned that says how many notifications it sends per second. */
  readonly pacedAheadMs: number;
  /** Jobs in one claim, and devices in one job of retries. */
  readonly jobsAtOnce: number;
  readonly retriesAtOnce: number;
  /** Untrusted devices may wait in memory this long, at the measured speed. More of them return to the store. */
  readonly untrustedWaitMs: number;
  /** Push services of one instance with a route of their own. The others share one. */
  readonly routes: number;
  /** How long a claim lasts: the jobs of a server that crashed wait this long. */
  readonly claimMs: number;
  readonly extendMs: number;
  /** Longer than any gateway takes for one device. Nothing is sent whose claim may expire before the outcome is known. */
  readonly sendMs: number;
  /** How long a claimed job that is not needed here stays in the store before it may be claimed again. */
  readonly awayMs: number;
  /** How long the stop of the pipeline waits for gateways, and then for the store. */
  readonly stopMs: number;
  readonly storeStopMs: number;
}

export const deliveryLimits: DeliveryLimits = {
  // With fewer devices, the commits of a page take as long as sending it. With more, a crash repeats more.
  pageDevices: 1_000,
  plans: 96,
  plansOfInstance: 8,
  plansOfAny: 32,
  // About 0.5 KB each.
  platformDevices: 4_000,
  sharedDevices: 64_000,
  instanceJobs: 500,
  pagesAhead: 10_000,
  pacedAheadMs: 3_600_000,
  jobsAtOnce: 8,
  retriesAtOnce: 500,
  untrustedWaitMs: 30_000,
  routes: 100,
  claimMs: 90_000,
  extendMs: 20_000,
  sendMs: 45_000,
  awayMs: 10_000,
  stopMs: 1_000,
  storeStopMs: 1_000,
};

/** The pause after the store failed, and after it failed for a minute. */
export const STORE_PAUSE_MS = 1_000;
export const STORE_PAUSE_MS_MAX = 30_000;

/** The store is polled at least this often; more often if other servers may leave jobs there. */
export const POLL_MS_MAX = 5_000;
export const POLL_MS_SHARED = 1_000;

/** And at most this often; less often if due work is not for this server now. */
export const POLL_MS_MIN = 50;
export const POLL_MS_NOT_FOR_US = 250;

/** How often expired claims, devices that wait too long and replaced gateways are checked. */
export const CHECK_MS = 1_000;

/**
 * The interval of claiming plans, so that publishes accepted within it are planned together; and the interval while
 * more than `BURST_PER_SECOND` publishes are accepted per second, because accepting has priority.
 */
export const PLAN_MS = 5;
export const PLAN_MS_IN_BURST = 100;
export const BURST_PER_SECOND = 1_000;

/** How long planning waits for room in memory before it leaves a page in the store, where it must be read again. */
export const ROOM_WAIT_MS = 50;

/** Pages wait in memory for a gateway that is expected back within this time. */
export const PATIENCE_MS = 5_000;

/** A device that has waited this long no longer holds up a page whose other devices are done. */
export const TURN_MS_MAX = 2_000;

/** How long the devices of further pages then do not wait at all. */
export const SLOW_MS = 10_000;

/** Devices that could not wait in memory come back within this time. */
export const LATER_MS_MAX = 15 * 60_000;

/** Once devices need not wait any longer: how many are brought forward at once, and how often. */
export const RECOVERY_DEVICES = 500;
export const RECOVERY_MS = 100;

/** How long a job is held in memory for a route with an open circuit. */
export const PARK_MS = 60_000;

/** A gateway that gives no outcome for this long has broken its contract. */
export const STUCK_MS = 120_000;

/** What was not used for this long is forgotten. */
export const IDLE_MS = 10 * 60_000;

/** How long nothing is claimed of an instance after a claimed job of it was not needed. */
export const NOT_NEEDED_MS = 2_000;

/** A publish that finds no room waits at most this long for it. */
export const GIVE_WAY_WAIT_MS = 2_000;

/** The shortest pause between two looks for room, while a publish waits for it. */
export const ROOM_PAUSE_MS = 50;

/** Publishes that give way in one commit. */
export const GIVING_WAY_AT_ONCE = 100;

/** How often the backlog is counted. */
export const BACKLOG_MS = 10_000;

/** After this many equal refusals of the whole publish in a row, its other devices are not tried. */
export const REFUSALS_ALIKE = 3;
