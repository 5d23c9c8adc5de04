import { audiencePages } from '../../audience.ts';
import type { PlanningClaim, PublishUnderWay } from '../../model/delivery.ts';
import { platforms, type Recipient } from '../../model/device.ts';
import type { Deliverer } from '../deliverer.ts';
import { countDevices, type DeviceCounts } from '../jobs/memory-budget.ts';
import { type DeliveryLimits, LOOK_MS, ROOM_WAIT_MS, STORE_PAUSE_MS } from '../limits.ts';
import type { PipelinePorts } from '../ports.ts';
import type { StoreAccess } from '../store-access.ts';
import { readStoredPublish, type StoredPublish } from '../stored-publish.ts';

/** A publish that is being planned. */
interface Plan {
  readonly publish: PublishUnderWay;
  readonly stored: StoredPublish;
  /** The last device that a page has come to. */
  after: number;
}

/** A page that is planned now. */
interface Planned {
  readonly recipients: readonly Recipient[];
  readonly devices: DeviceCounts;
  /** The last device that was looked at. */
  readonly upTo: number;
}

/** What a planner tells of itself. */
export interface PlannerHears {
  /** A publish is planned: there is room for another. */
  ended(): void;
  /** A page was left in the store. */
  left(): void;
}

/** How often planning looks whether there is room. */
const ROOM_LOOK_MS = 10;

/**
 * Makes pages of the audiences of publishes. A page is delivered by this server at once where there is room for
 * it, and left in the store where there is none, so that planning does not wait for gateways.
 */
export class Planner {
  private readonly ports: PipelinePorts;
  private readonly limits: DeliveryLimits;
  private readonly access: StoreAccess;
  private readonly deliverer: Deliverer;
  private readonly hears: PlannerHears;
  /** The instances of the publishes that are planned, by their numbers. */
  private readonly plans = new Map<number, number>();
  private isStopping = false;
  private onEmpty: (() => void) | undefined;

  constructor(
    ports: PipelinePorts,
    limits: DeliveryLimits,
    access: StoreAccess,
    deliverer: Deliverer,
    hears: PlannerHears,
  ) {
    this.ports = ports;
    this.limits = limits;
    this.access = access;
    this.deliverer = deliverer;
    this.hears = hears;
  }

  /** How many more publishes may be planned. */
  get room(): number {
    return Math.max(0, this.limits.plans - this.plans.size);
  }

  /** How many more of one instance, where it is not one of `except`. */
  get roomOfEach(): number {
    const { plansOfInstance, plansOfAny } = this.limits;
    return Math.max(plansOfInstance, plansOfAny - this.plans.size);
  }

  /** The publishes whose claims must not end. */
  held(): readonly number[] {
    return [...this.plans.keys()];
  }

  /** Instances of which enough is planned. */
  except(): readonly number[] {
    if (this.plans.size < this.limits.plansOfAny) return [];
    const byInstance = Map.groupBy(this.plans.values(), (instance) => instance);
    return [...byInstance]
      .filter(([, plans]) => plans.length >= this.limits.plansOfInstance)
      .map(([instance]) => instance);
  }

  /** Plans a publish that was claimed. Never throws. */
  plan({ publish, after }: PlanningClaim): void {
    // Its claim has ended while it was planned, and was had again.
    if (this.plans.has(publish.number)) return;
    this.plans.set(publish.number, publish.instance);
    void this.planToEnd(publish, after).then(() => {
      this.plans.delete(publish.number);
      if (this.plans.size === 0) this.onEmpty?.();
      this.hears.ended();
    });
  }

  /** Begins nothing more, and settles when nothing is under route. */
  async stop(): Promise<void> {
    this.isStopping = true;
    if (this.plans.size === 0) return;
    await new Promise<void>((resolve) => {
      this.onEmpty = resolve;
    });
  }

  private async planToEnd(publish: PublishUnderWay, after: number): Promise<void> {
    // Another server knows it, or this one will when the claim has ended.
    if (this.ports.instances.byNumber(publish.instance) === undefined) return;
    const stored = readStoredPublish(publish);
    if (stored === undefined) {
      this.ports.notices.fault(new Error(`the publish ${publish.id} cannot be read`));
      await this.end(publish, after);
      return;
    }
    if (after === 0) this.ports.events.started(publish);
    const plan: Plan = { publish, stored, after };
    while (!this.isStopping) {
      try {
        await this.addPages(plan);
        return;
      } catch (error) {
        if (!this.access.wasTold(error)) this.ports.notices.fault(error);
        // What was planned is kept, and planning goes on from there.
        await this.access.pause(STORE_PAUSE_MS);
      }
    }
  }

  /** Gives up where the publish is planned by somebody else, or planning is to stop. */
  private async addPages(plan: Plan): Promise<void> {
    const { publish, stored } = plan;
    const pages = audiencePages(this.askedAudience(), {
      instance: publish.instance,
      target: stored.target,
      after: plan.after,
      pageDevices: this.limits.pageDevices,
    });
    // One is kept back, since planning ends with the last one: most publishes have no other.
    let known: Planned | undefined;
    for await (const { recipients: all, last } of pages) {
      const recipients = all.filter(({ platform }) => stored.payloads[platform] !== undefined);
      if (recipients.length > 0) {
        if (known !== undefined && !(await this.addPage(plan, known, false))) return;
        known = { recipients, devices: countDevices(recipients), upTo: last };
      }
      if (this.isStopping) return;
    }
    if (known === undefined) await this.end(publish, plan.after);
    else await this.addPage(plan, known, true);
  }

  /** `false`: planning is not this server's any more, or is to stop. */
  private async addPage(plan: Plan, planned: Planned, isLast: boolean): Promise<boolean> {
    const { publish, stored } = plan;
    const { recipients, devices } = planned;
    const { room } = this.deliverer.held;
    const place = await this.placeFor(publish.instance, devices);
    if (place === undefined) return false;
    if (place !== 'here') {
      const untilMs = place === 'store-later' ? this.ports.timers.now() + this.limits.awayMs : 0;
      if ((await this.keepPage(plan, planned, isLast, untilMs)) === undefined) return false;
      room.leftAhead(publish.instance);
      this.hears.left();
      return true;
    }
    // Held before the page is there: several publishes of an instance are planned at the same time.
    room.hold(publish.instance, devices);
    try {
      const leasedUntilMs = this.ports.timers.now() + this.limits.leaseMs;
      const page = await this.keepPage(plan, planned, isLast, leasedUntilMs);
      if (page === undefined) return false;
      this.deliverer.deliverPlanned({ page, publish, recipients, leasedUntilMs, stored });
      return true;
    } finally {
      room.release(publish.instance, devices);
    }
  }

  /** Gives its number; `undefined` where planning is not this server's any more. */
  private async keepPage(
    plan: Plan,
    { recipients, devices, upTo }: Planned,
    isLast: boolean,
    untilMs: number,
  ): Promise<number | undefined> {
    const page = {
      after: plan.after,
      upTo,
      devices: recipients.map(({ number }) => number),
      planned: devices,
      isLast,
    };
    const number = await this.access.ask(() =>
      this.ports.store.addPage(plan.publish.number, page, untilMs),
    );
    if (number !== undefined) plan.after = upTo;
    return number;
  }

  /** Waits a moment for room here, since what is left in the store must be read again; `undefined` at the end. */
  private async placeFor(
    instance: number,
    devices: DeviceCounts,
  ): Promise<'here' | 'store' | 'store-later' | undefined> {
    const needed = platforms.filter((platform) => devices[platform] > 0);
    for (let waitedMs = 0; !this.isStopping; waitedMs += ROOM_LOOK_MS) {
      const place = this.deliverer.placeFor(instance, needed);
      if (place === 'here' || place === 'store-later') return place;
      if (place === 'store' && waitedMs >= ROOM_WAIT_MS) return place;
      await this.access.pause(place === 'store' ? ROOM_LOOK_MS : LOOK_MS);
    }
    return undefined;
  }

  private async end(publish: PublishUnderWay, after: number): Promise<void> {
    const { store, timers, events } = this.ports;
    const ended = await this.access.insist(() =>
      store.endPlanning(publish.number, after, timers.now()),
    );
    if (ended === 'finished') events.finished(publish);
  }

  private askedAudience(): PipelinePorts['audience'] {
    const { audience } = this.ports;
    return {
      numbers: (...query) => this.access.ask(() => audience.numbers(...query)),
      recipients: (...query) => this.access.ask(() => audience.recipients(...query)),
    };
  }
}
