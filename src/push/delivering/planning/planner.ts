import { audiencePages } from '../../audience.ts';
import type { ClaimedPlan, PublishUnderWay } from '../../model/delivery.ts';
import { platforms, type Recipient } from '../../model/device.ts';
import { Pace, type TakenTimes } from '../../model/pace.ts';
import { isFor } from '../../payloads/payloads.ts';
import type { WantedPlans } from '../../planning-store.ts';
import type { Deliverer } from '../deliverer.ts';
import { DueTimes } from '../due-times.ts';
import { countDevices, type DeviceCounts } from '../jobs/memory-budget.ts';
import { CHECK_MS, type DeliveryLimits, ROOM_WAIT_MS, STORE_PAUSE_MS } from '../limits.ts';
import type { PipelinePorts } from '../ports.ts';
import type { StoreAccess } from '../store-access.ts';
import { readStoredPublish, type StoredPublish } from '../stored-publish.ts';
import { byDevice, splitByDue } from './split-by-due.ts';

export interface PlannerOptions {
  readonly ports: PipelinePorts;
  readonly limits: DeliveryLimits;
  readonly access: StoreAccess;
  readonly deliverer: Deliverer;
  /** Called when a page was left in the store for any server to claim. */
  readonly onPageStored: () => void;
}

/** A publish that is being planned. */
interface Plan {
  readonly publish: PublishUnderWay;
  readonly stored: StoredPublish;
  readonly dueTimes: DueTimes;
  /** `undefined`: it does not say how many notifications it sends per second. */
  pace: Pace | undefined;
  /** When the pages in the store are sent. */
  taken: TakenTimes | undefined;
  /** Users who got it in the app: their devices are left out. */
  readonly reached: ReadonlySet<string>;
  /** The last device that was planned. */
  after: number;
}

/** The devices of the next page. */
interface Page {
  readonly recipients: readonly Recipient[];
  readonly devices: DeviceCounts;
  /** The last device that was read. */
  readonly upTo: number;
}

/** How often planning checks whether there is room. */
const ROOM_CHECK_MS = 10;

/**
 * Divides the audiences of publishes into pages. This server delivers a page at once if it has room; otherwise the page
 * stays in the store, so that planning does not wait for gateways.
 */
export class Planner {
  private readonly options: PlannerOptions;
  /** The plans in progress: publish to instance, by their numbers. */
  private readonly plans = new Map<number, number>();
  private isStopping = false;
  private onEmpty: (() => void) | undefined;

  constructor(options: PlannerOptions) {
    this.options = options;
  }

  /** How many more publishes may be planned: in total, per instance, and none of those in `except`. */
  wanted(): Pick<WantedPlans, 'limit' | 'limitPerInstance' | 'except'> {
    const { plans, plansOfInstance, plansOfAny } = this.options.limits;
    const limit = Math.max(0, plans - this.plans.size);
    const limitPerInstance = Math.max(plansOfInstance, plansOfAny - this.plans.size);
    if (this.plans.size < plansOfAny) return { limit, limitPerInstance, except: [] };
    const byInstance = Map.groupBy(this.plans.values(), (instance) => instance);
    const full = [...byInstance].filter(([, publishes]) => publishes.length >= plansOfInstance);
    return { limit, limitPerInstance, except: full.map(([instance]) => instance) };
  }

  /** The publishes in progress, whose claims must be extended. */
  planned(): readonly number[] {
    return [...this.plans.keys()];
  }

  /** Plans a claimed publish to its end. Never rejects. */
  async plan({ publish, after, taken, live }: ClaimedPlan): Promise<void> {
    if (live === 'to-be-asked') {
      this.options.ports.live?.due(publish);
      return;
    }
    // The claim expired, and this server has claimed the plan again while it is still in progress.
    if (this.plans.has(publish.number)) return;
    this.plans.set(publish.number, publish.instance);
    await this.planToEnd({ publish, after, taken, live });
    this.plans.delete(publish.number);
    if (this.plans.size === 0) this.onEmpty?.();
  }

  /** Plans nothing more, and settles when nothing is in progress. */
  async stop(): Promise<void> {
    this.isStopping = true;
    if (this.plans.size === 0) return;
    await new Promise<void>((resolve) => {
      this.onEmpty = resolve;
    });
  }

  private async planToEnd({ publish, after, taken, live }: ClaimedPlan): Promise<void> {
    const { ports, access } = this.options;
    // Another server knows the instance, or this one will when the claim has expired.
    const instance = ports.instances.byNumber(publish.instance);
    if (instance === undefined) return;
    const stored = readStoredPublish(publish);
    if (stored === undefined) {
      ports.notices.fault(new Error(`the publish ${publish.id} cannot be read`));
      await this.endPlan(publish, after);
      return;
    }
    if (after === 0) ports.events.started(publish);
    const reached = new Set(live === 'to-be-asked' ? [] : live?.reached);
    const plan: Plan = {
      publish,
      stored: without(stored, reached),
      dueTimes: new DueTimes(publish, stored, instance.manners ?? {}),
      pace: undefined,
      taken,
      reached,
      after,
    };
    while (!this.isStopping) {
      try {
        await this.addPages(plan);
        return;
      } catch (error) {
        if (!access.wasReported(error)) ports.notices.fault(error);
        // The pages so far are stored; planning continues after them.
        await access.pause(STORE_PAUSE_MS);
      }
    }
  }

  /** Stops early if another server has continued the plan, or planning is to stop. */
  private async addPages(plan: Plan): Promise<void> {
    const { publish, stored } = plan;
    const { perSecond } = stored;
    plan.pace = perSecond === undefined ? undefined : new Pace(perSecond, plan.taken);
    const pages = audiencePages(this.guardedAudience(), {
      instance: publish.instance,
      target: stored.target,
      after: plan.after,
      pageDevices: Math.min(this.options.limits.pageDevices, perSecond ?? Infinity),
    });
    // The last page also ends the plan, so one page is held back. Most publishes have only one.
    let page: Page | undefined;
    for await (const { recipients: all, last } of pages) {
      const recipients = all.filter(
        (recipient) => isFor(stored.payloads, recipient) && !isReached(plan, recipient.userId),
      );
      if (recipients.length > 0) {
        if (page !== undefined && !(await this.addPage(plan, page, false))) return;
        if (page !== undefined && (await this.isFarAhead(plan))) return;
        page = { recipients, devices: countDevices(recipients), upTo: last };
      }
      if (this.isStopping) return;
    }
    if (page === undefined) await this.endPlan(publish, plan.after);
    else await this.addPage(plan, page, true);
  }

  /** Returns whether this server should continue the plan. */
  private async addPage(plan: Plan, page: Page, isLast: boolean): Promise<boolean> {
    const { ports, limits, access, deliverer, onPageStored } = this.options;
    const { publish, stored, after } = plan;
    const { instance } = publish;
    const { recipients, devices: planned, upTo } = page;
    const { budget } = deliverer.held;
    const nowMs = ports.timers.now();
    const { dues, leftOut, now } = splitByDue(recipients, plan, nowMs);
    const cap = plan.dueTimes.capOf(recipients, nowMs);
    const devices = now.length === recipients.length ? planned : countDevices(now);
    // What is due later takes no memory until then.
    const place = now.length === 0 ? 'store' : await this.placeFor(instance, devices);
    if (place === undefined) return false;
    const isHere = place === 'here';
    const untilMs = ports.timers.now() + (isHere ? limits.claimMs : limits.awayMs);
    const isHeld = place === 'store-later';
    const added = {
      publish: publish.number,
      page: {
        after,
        upTo,
        devices: recipients.map(({ number }) => number),
        planned,
        isLast,
        dues,
        leftOut,
        taken: plan.pace?.taken,
      },
      claimedUntilMs: isHere ? untilMs : undefined,
      heldUntilMs: isHeld ? untilMs : undefined,
      cap,
    };
    // Memory is reserved before the page is stored, because several plans of an instance are in progress.
    if (isHere) budget.hold(instance, devices);
    try {
      const inStore = await access.ask(() => ports.store.addPage(added));
      // Another server has continued the plan.
      if (inStore === undefined) return false;
      plan.after = upTo;
      plan.taken = plan.pace?.taken;
      this.showPage(publish, planned);
      if (isHere) {
        deliverer.deliverPlanned({
          page: inStore.page,
          publish,
          recipients: now,
          claimedUntilMs: untilMs,
          nextDueMs: dues?.[0]?.atMs,
          leftOut: byDevice([...(leftOut ?? []), ...inStore.overCap]),
          stored,
        });
      } else {
        if (now.length > 0) budget.storedPage(instance);
        onPageStored();
      }
      return true;
    } finally {
      if (isHere) budget.release(instance, devices);
    }
  }

  /**
   * Gives a plan back whose next page would be due much later, so that a slow publish to many devices has few rows. Those that
   * wait for their local time may be among the rest of the audience, so all of it is read for them.
   */
  private async isFarAhead({ publish, stored, pace, after }: Plan): Promise<boolean> {
    if (pace === undefined || stored.sendAtLocal !== undefined) return false;
    const { ports, access, limits } = this.options;
    const { pacedAheadMs } = limits;
    const nowMs = ports.timers.now();
    const nextMs = pace.freeFrom(nowMs);
    if (nextMs < nowMs + pacedAheadMs) return false;
    const untilMs = nextMs - pacedAheadMs / 2;
    await access.ask(() => ports.store.postponePlan({ publish: publish.number, after, untilMs }));
    return true;
  }

  /** Shows a page in the live streams of the instance, by platform. */
  private showPage({ id, instance }: PublishUnderWay, counts: DeviceCounts): void {
    const tap = this.options.ports.taps?.watched?.get(instance);
    if (tap === undefined) return;
    for (const platform of platforms) {
      const devices = counts[platform];
      if (devices > 0) tap.record({ kind: 'planned', publish: id, platform, devices });
    }
  }

  /** Waits a moment for room here, because a page in the store must be read again. `undefined`: planning is to stop. */
  private async placeFor(
    instance: number,
    devices: DeviceCounts,
  ): Promise<'here' | 'store' | 'store-later' | undefined> {
    const { deliverer, access } = this.options;
    const used = platforms.filter((platform) => devices[platform] > 0);
    for (let waitedMs = 0; !this.isStopping; waitedMs += ROOM_CHECK_MS) {
      const place = deliverer.placeFor(instance, used);
      if (place === 'here' || place === 'store-later') return place;
      if (place === 'store' && waitedMs >= ROOM_WAIT_MS) return place;
      await access.pause(place === 'store' ? ROOM_CHECK_MS : CHECK_MS);
    }
    return undefined;
  }

  private async endPlan(publish: PublishUnderWay, after: number): Promise<void> {
    const { ports, access } = this.options;
    const { store, timers, events } = ports;
    const ended = await access.insist(() =>
      store.endPlanning({ publish: publish.number, after, nowMs: timers.now() }),
    );
    if (ended === 'finished') events.finished(publish);
  }

  private guardedAudience(): PipelinePorts['audience'] {
    const { ports, access } = this.options;
    const { audience } = ports;
    return {
      numbers: (range) => access.ask(() => audience.numbers(range)),
      recipients: (...query) => access.ask(() => audience.recipients(...query)),
    };
  }
}

/** Names of users are left out before their devices are read, but interests have devices of many users. */
function isReached({ stored, reached }: Plan, userId: string | undefined): boolean {
  return stored.target.kind === 'interests' && userId !== undefined && reached.has(userId);
}

function without(stored: StoredPublish, names: ReadonlySet<string>): StoredPublish {
  const { target } = stored;
  if (names.size === 0 || target.kind === 'interests') return stored;
  return {
    ...stored,
    target: { ...target, names: target.names.filter((name) => !names.has(name)) },
  };
}
