import { every } from '../../runtime/time/every.ts';
import { pause } from '../../runtime/time/pause.ts';
import { Poller } from '../../runtime/time/poller.ts';
import type { DeliveryBacklog } from '../model/delivery.ts';
import { byPlatform, type Platform } from '../model/device.ts';
import { Backlog } from './backlog/backlog.ts';
import { Deliverer } from './deliverer.ts';
import {
  BACKLOG_MS,
  CHECK_MS,
  type DeliveryLimits,
  deliveryLimits,
  POLL_MS_MAX,
  POLL_MS_MIN,
  POLL_MS_NOT_FOR_US,
  POLL_MS_SHARED,
  RECOVERY_MS,
  STORE_PAUSE_MS,
} from './limits.ts';
import type { LeftOutReason, Outcomes } from './outcome-counts.ts';
import { Planner } from './planning/planner.ts';
import { PlanningPace } from './planning/planning-pace.ts';
import type { CircuitEvent, LastOutcomes, OpenCircuit, PipelinePorts } from './ports.ts';
import { RetryRecovery } from './retry-recovery.ts';
import { StoreAccess } from './store-access.ts';

export interface PipelineFigures {
  /** Publishes that are being planned. */
  readonly planning: number;
  /** Jobs and devices in memory. */
  readonly jobs: number;
  readonly devices: number;
  /** Sends in flight. */
  readonly sending: number;
  /** Outcomes since the start. A device counts once for each attempt. */
  readonly outcomes: Readonly<Record<Platform, Readonly<Outcomes>>>;
  readonly openCircuits: readonly OpenCircuit[];
  /** The work in the store that waits for any server, at the last count; `undefined`: not counted yet. */
  readonly backlog: Pick<DeliveryBacklog, 'pages' | 'retries'> | undefined;
  /** Devices that fail while others are accepted. */
  readonly pausedDevices: number;
  /** Devices that are not tried any more by a rule of this server, since the start. */
  readonly leftOut: Readonly<Record<LeftOutReason, number>>;
  /** Devices whose publish gave way to new ones on this server, since the start. */
  readonly gaveWay: Readonly<Record<Platform, number>>;
  /** For how long the oldest page or retry has been due. */
  readonly lagMs: number;
}

/** Delivers what is due in the store, from its construction until `stop`. */
export class Pipeline {
  private readonly ports: PipelinePorts;
  private readonly limits: DeliveryLimits;
  private readonly access: StoreAccess;
  private readonly deliverer: Deliverer;
  private readonly planner: Planner;
  private readonly pace = new PlanningPace();
  private readonly recovery: RetryRecovery;
  private readonly room: Backlog;
  private readonly planning: Poller;
  private readonly claiming: Poller;
  private readonly recovering: Poller;
  private readonly pollers: readonly Poller[];
  private readonly cancelCheck: () => void;
  private checkedAtMs: number;
  /** Whether there may be more to claim once there is room. */
  private mayHaveMore = true;
  /** Settles when the claims of servers that crashed are released. */
  private released: Promise<unknown> | undefined;
  private backlog: DeliveryBacklog | undefined;
  private stopping: Promise<void> | undefined;

  constructor(ports: PipelinePorts) {
    const { timers, notices, limits = deliveryLimits } = ports;
    this.ports = ports;
    this.limits = limits;
    const access = new StoreAccess(timers, notices);
    this.access = access;
    this.recovery = new RetryRecovery(ports, access);
    this.deliverer = new Deliverer({
      ports,
      limits,
      access,
      onRoom: (hasRetries) => {
        // The retries may be due before the next poll.
        if (this.mayHaveMore || hasRetries) this.claiming.wake();
      },
      onEndedAfterWaiting: (ended) => {
        if (this.recovery.ended(ended)) this.recovering.wake();
      },
    });
    this.room = new Backlog({ ports, access, deliverer: this.deliverer });
    this.planner = new Planner({
      ports,
      limits,
      access,
      deliverer: this.deliverer,
      onPageStored: () => this.claiming.wake(),
    });
    const poll = (run: () => Promise<number>) => new Poller(timers, () => this.guarded(run));
    this.planning = poll(() => this.claimPlans());
    this.claiming = poll(() => this.claimJobs());
    this.recovering = poll(() => this.recover());
    this.pollers = [
      this.planning,
      this.claiming,
      this.recovering,
      poll(() => this.extendClaims()),
      poll(() => this.countBacklog()),
      poll(() => this.lookForRoom()),
    ];
    this.checkedAtMs = timers.now();
    this.cancelCheck = every(timers, CHECK_MS, () => this.check());
    for (const poller of this.pollers) poller.wake();
  }

  /** Polls at once: publishes were accepted, or an instance has another gateway. */
  wake(accepted = 0): void {
    this.pace.accepted(accepted, this.ports.timers.now());
    this.deliverer.useGateways();
    this.lookForWork();
  }

  /** Makes publishes of an instance that wait only for failures give way if they take most of its room; see `Backlog`. */
  makeRoom(instance: number, neededBytes = 0): Promise<boolean> {
    return this.room.makeRoom(instance, neededBytes);
  }

  /** Stops within a bounded time. What is not delivered stays in the store. */
  stop(): Promise<void> {
    this.stopping ??= this.stopOnce();
    return this.stopping;
  }

  figures(): PipelineFigures {
    const { timers } = this.ports;
    const { held, counts, sending } = this.deliverer;
    const oldestDueAtMs = this.backlog?.oldestDueAtMs;
    return {
      planning: this.planner.planned().length,
      jobs: held.budget.jobs,
      devices: held.budget.devices,
      sending,
      outcomes: byPlatform((platform) => ({ ...counts.outcomes[platform] })),
      openCircuits: this.deliverer.openCircuits(),
      backlog: this.backlog && { pages: this.backlog.pages, retries: this.backlog.retries },
      pausedDevices: this.deliverer.pausedDevices,
      leftOut: { ...counts.leftOut },
      gaveWay: { ...this.room.devices },
      lagMs: oldestDueAtMs === undefined ? 0 : Math.max(0, timers.now() - oldestDueAtMs),
    };
  }

  /** The latest outcome of the gateway of an instance on this server. */
  lastOutcomes(instance: number, platform: Platform): Readonly<LastOutcomes> {
    return this.deliverer.lastOutcomes(instance, platform);
  }

  private lookForWork(): void {
    this.planning.wake();
    this.claiming.wake();
  }

  /** Runs a poll, and tries again after a pause if the store cannot be used. */
  private async guarded(run: () => Promise<number>): Promise<number> {
    try {
      if (this.ports.isAlone) {
        this.released ??= this.access.insist(() => this.ports.store.release('all'));
        await this.released;
      }
      return await run();
    } catch (error) {
      if (!this.access.wasReported(error)) this.ports.notices.fault(error);
      return STORE_PAUSE_MS;
    }
  }

  private async claimPlans(): Promise<number> {
    const { store, timers } = this.ports;
    const wanted = this.planner.wanted();
    // The end of a plan wakes this poller.
    if (wanted.limit === 0) return POLL_MS_MAX;
    const nowMs = timers.now();
    const waitMs = this.pace.waitMs(nowMs);
    if (waitMs > 0) return waitMs;
    const untilMs = nowMs + this.limits.claimMs;
    const claims = await this.access.ask(() => store.claimPlans({ nowMs, untilMs, ...wanted }));
    for (const claim of claims) void this.planner.plan(claim).then(() => this.planning.wake());
    if (claims.length === 0) return await this.untilDue(wanted.except);
    this.pace.began(nowMs);
    this.planning.wake();
    return 0;
  }

  private async claimJobs(): Promise<number> {
    const { store, timers } = this.ports;
    const { jobsAtOnce, retriesAtOnce, claimMs } = this.limits;
    const except = this.deliverer.except();
    const nowMs = timers.now();
    this.mayHaveMore = false;
    const jobs = await this.access.ask(() =>
      store.claimJobs({
        nowMs,
        untilMs: nowMs + claimMs,
        limit: jobsAtOnce,
        devicesPerJob: retriesAtOnce,
        except,
      }),
    );
    this.mayHaveMore ||= jobs.length > 0 || except.length > 0;
    // In memory before the next claim, which needs to know the room that is left.
    await Promise.all(jobs.map((job) => this.deliverer.deliverClaimed(job)));
    if (jobs.length > 0) this.claiming.wake();
    return jobs.length > 0 ? 0 : await this.untilDue(except);
  }

  /** Milliseconds until the next poll, unless the poller is woken before. */
  private async untilDue(except: readonly number[]): Promise<number> {
    const dueAtMs = await this.access.ask(() => this.ports.store.nextDue(except));
    const pollMs = this.ports.isAlone ? POLL_MS_MAX : POLL_MS_SHARED;
    // Instances of `except` may be needed again without waking the poller.
    const mostMs = except.length > 0 ? CHECK_MS : pollMs;
    if (dueAtMs === undefined) return mostMs;
    const pauseMs = dueAtMs - this.ports.timers.now();
    // Something is due: for the other poller, or another server was faster.
    if (pauseMs <= 0) return POLL_MS_NOT_FOR_US;
    return Math.min(mostMs, Math.max(POLL_MS_MIN, pauseMs));
  }

  private async extendClaims(): Promise<number> {
    const { store, timers } = this.ports;
    const { claimMs, extendMs } = this.limits;
    const nowMs = timers.now();
    // Another server may hold an expired claim by now.
    const held = this.deliverer.held.all().filter(({ claimedUntilMs }) => claimedUntilMs > nowMs);
    const plans = this.planner.planned();
    if (held.length === 0 && plans.length === 0) return extendMs;
    const jobs = held.map(({ claim }) => claim);
    await this.access.ask(() => store.extend({ plans, jobs }, nowMs + claimMs));
    for (const job of held) job.claimedUntilMs = nowMs + claimMs;
    return extendMs;
  }

  private async recover(): Promise<number> {
    // A closed circuit wakes this poller, and so does a device that came back and has ended.
    if (this.recovery.isEmpty) return POLL_MS_MAX;
    await this.recovery.bringSome(this.deliverer.openCircuits());
    this.claiming.wake();
    return RECOVERY_MS;
  }

  private async countBacklog(): Promise<number> {
    this.backlog = await this.access.ask(() => this.ports.store.backlog());
    return BACKLOG_MS;
  }

  private async lookForRoom(): Promise<number> {
    await this.room.look();
    return CHECK_MS;
  }

  private check(): void {
    const { timers } = this.ports;
    const nowMs = timers.now();
    if (nowMs < this.checkedAtMs) void this.clockSetBack(nowMs, this.checkedAtMs + CHECK_MS);
    for (const event of this.deliverer.check()) this.circuitChanged(event);
    this.checkedAtMs = nowMs;
  }

  private circuitChanged({ what, circuit }: CircuitEvent): void {
    const { notices } = this.ports;
    if (what === 'opened') {
      notices.circuitOpened(circuit);
      return;
    }
    notices.circuitClosed(circuit);
    if (this.recovery.circuitClosed(circuit)) this.recovering.wake();
  }

  /** Adjusts the store's times, and in the same commit extends the claims that this ends. */
  private async clockSetBack(nowMs: number, beforeMs: number): Promise<void> {
    const { store } = this.ports;
    this.deliverer.clockSetBack(beforeMs - nowMs);
    await this.access.insist(() =>
      Promise.all([store.clockSetBack(nowMs, beforeMs), this.extendClaims()]),
    );
    this.lookForWork();
  }

  private async stopOnce(): Promise<void> {
    const { store, timers } = this.ports;
    this.cancelCheck();
    this.room.stop();
    const others = [this.planner.stop(), ...this.pollers.map((poller) => poller.stop())];
    await this.deliverer.stop();
    this.access.giveUp();
    // A store that gives no answer must not prevent the stop.
    await Promise.race([Promise.all(others), pause(timers, this.limits.storeStopMs)]);
    try {
      await this.access.ask(() => store.release('own'));
    } catch {
      // Reported by `access`. The claims expire by themselves.
    }
  }
}
