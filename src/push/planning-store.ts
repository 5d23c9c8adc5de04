import type { PageCap } from './model/cap.ts';
import type {
  AfterJob,
  ClaimedPlan,
  ClaimOptions,
  LeftOutDevices,
  NewPage,
} from './model/delivery.ts';

/**
 * Keeps plans: which publishes still need their audience read, and how far that has come. Each method is one commit,
 * durable when it settles; if it fails without an answer, it may have been done.
 */
export interface PlanningStore {
  /**
   * Claims due plans: instances take turns, and of each the plan that has waited longest is first. At most
   * `limitPerInstance` of each.
   */
  claimPlans(wanted: WantedPlans): Promise<readonly ClaimedPlan[]>;
  /**
   * Adds a page and records how far planning has come. `undefined`: the publish was cancelled, or another server has
   * continued its plan.
   */
  addPage(added: AddedPage): Promise<StoredPage | undefined>;
  /** Gives a plan back: the rest of the audience is read later, by any server. */
  postponePlan(postponed: PlanPostponed): Promise<void>;
  /** Ends planning: the audience after device `after` is empty. `'finished'`: nothing is left to deliver. */
  endPlanning(end: PlanEnd): Promise<AfterJob>;
}

export interface WantedPlans extends ClaimOptions {
  readonly limitPerInstance?: number;
}

export interface AddedPage {
  /** The number of its publish. */
  readonly publish: number;
  readonly page: NewPage;
  /** The page is claimed by this server until then; `undefined`: any server may claim it when its first device is due. */
  readonly claimedUntilMs: number | undefined;
  /** Set if the page waits for open circuits only: it is not claimed, and any server may claim it from then on. */
  readonly heldUntilMs?: number | undefined;
  /** Counts the page towards the caps of its devices, in the same commit. Those without room do not get it. */
  readonly cap?: PageCap | undefined;
}

/** A page in the store. */
export interface StoredPage {
  readonly page: number;
  /** Devices without room under the cap, who do not get it. */
  readonly overCap: readonly LeftOutDevices[];
}

export interface PlanPostponed {
  readonly publish: number;
  /** The last device that was planned. If the store has another, another server has continued the plan. */
  readonly after: number;
  readonly untilMs: number;
}

export interface PlanEnd {
  readonly publish: number;
  /** The last device of the audience. */
  readonly after: number;
  readonly nowMs: number;
}
