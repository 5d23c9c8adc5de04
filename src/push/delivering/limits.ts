/** Every bound of the delivery pipeline, in one place. What happens at each of them is said here. */
export interface DeliveryLimits {
  /** Devices of an audience that are read, delivered and kept together; a crash repeats no less of one. */
  readonly pageDevices: number;
  /** Publishes that are planned at the same time, and how many of them may be of one instance; the others wait. */
  readonly plans: number;
  readonly plansOfInstance: number;
  /**
   * While there are fewer than these, they may be of any instance: small ones that are planned together share what
   * they cost, and the others still have the rest.
   */
  readonly plansOfAny: number;
  /**
   * Devices of one instance and platform that are held in memory; beyond it, pages stay in the store. What is
   * claimed in one go may be more by that.
   */
  readonly platformDevices: number;
  /**
   * Devices held of all instances, large publishes counted as more; beyond it, only instances of which nothing is
   * held get a job.
   */
  readonly sharedDevices: number;
  /**
   * Jobs of one instance that are held, however small they are. Jobs that have only newcomers left do not count,
   * because hanging fakes would keep other jobs out.
   */
  readonly instanceJobs: number;
  /** Pages that this server leaves in the store for an instance; beyond it, planning of that instance waits. */
  readonly pagesAhead: number;
  /** Jobs that are claimed in one go, and devices in one job of retries. */
  readonly jobsAtOnce: number;
  readonly retriesAtOnce: number;
  /**
   * Devices that no gateway has accepted yet may wait in memory for this long, at the speed measured over the last
   * seconds; more of them return to the store.
   */
  readonly newcomersWaitMs: number;
  /** Push services of one instance that are told from each other; the others share one route. */
  readonly routes: number;
  /** How long a claim lasts: a server that died is missed for so long. */
  readonly leaseMs: number;
  readonly renewMs: number;
  /** Longer than any gateway takes for one device: nothing is sent whose claim may end before the outcome is known. */
  readonly sendMs: number;
  /** How long a job is left in the store that was claimed, and for which this server has no use now. */
  readonly awayMs: number;
  /** How long the end of the pipeline waits for gateways, and then for the store. */
  readonly stopMs: number;
  readonly storeStopMs: number;
}

export const deliveryLimits: DeliveryLimits = {
  // The commits of a page take about as long as sending it does with fewer devices, and a crash repeats more with more.
  pageDevices: 1_000,
  plans: 96,
  plansOfInstance: 8,
  plansOfAny: 32,
  // About half a kilobyte each.
  platformDevices: 4_000,
  sharedDevices: 64_000,
  instanceJobs: 500,
  pagesAhead: 10_000,
  jobsAtOnce: 8,
  retriesAtOnce: 500,
  newcomersWaitMs: 30_000,
  routes: 100,
  leaseMs: 90_000,
  renewMs: 20_000,
  sendMs: 45_000,
  awayMs: 10_000,
  stopMs: 10_000,
  storeStopMs: 2_000,
};

/** The pause after the store could not be asked; and after the same was asked in vain for a minute. */
export const STORE_PAUSE_MS = 1_000;
export const STORE_PAUSE_MS_MAX = 30_000;

/** The store is asked what is due at least so often: another server may have left something. */
export const ASK_MS_MAX = 5_000;

/** And not more often than this; where what is due is not for this server now, seldomer. */
export const ASK_MS_MIN = 50;
export const ASK_MS_IN_VAIN = 250;

/** How often what nobody tells is looked at: claims that end, devices that wait too long, gateways that were replaced. */
export const LOOK_MS = 1_000;

/**
 * How often publishes are claimed to be planned, so that those that come meanwhile are planned together; and how
 * often at least while more than so many are accepted in a second, which goes first.
 */
export const PLAN_MS = 5;
export const PLAN_MS_IN_BURST = 100;
export const BURST_PER_SECOND = 1_000;

/** How long planning waits for a place in memory before it leaves a page in the store, where it must be read again. */
export const ROOM_WAIT_MS = 50;

/** A gateway that comes back within this time is waited for by pages that wait for nothing else. */
export const PATIENCE_MS = 5_000;

/** A device that has waited so long for its turn no longer holds up a page of which all others were sent. */
export const TURN_MS_MAX = 2_000;

/** How long the devices of further pages then do not wait at all. */
export const SLOW_MS = 10_000;

/** Devices that could not wait for their turn come back within this time. */
export const LATER_MS_MAX = 15 * 60_000;

/** How many devices that wait are looked at in one go, and how often, where a route is used again that they wait for. */
export const HURRY_DEVICES = 500;
export const HURRY_MS = 100;

/** How long a job is kept for a route that is shut. */
export const PARK_MS = 60_000;

/** A gateway that gives no outcome for so long has broken its contract. */
export const STUCK_MS = 120_000;

/** What nobody has used for so long is forgotten. */
export const IDLE_MS = 10 * 60_000;

/** How long nothing more is claimed of an instance of which something was claimed in vain. */
export const IN_VAIN_MS = 2_000;

/** How often the backlog is counted. */
export const BACKLOG_MS = 10_000;

/** Refusals in a row, each of the whole publish, after which its other devices are not tried. */
export const REFUSALS_ALIKE = 3;
