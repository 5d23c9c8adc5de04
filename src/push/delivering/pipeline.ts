import type { DeliveryBacklog } from '../model/delivery.ts';
import type { Platform } from '../model/device.ts';
import { Deliverer } from './deliverer.ts';
import type { OutcomeCounts } from './routes/dispatcher.ts';
import {
  ASK_MS_IN_VAIN,
  ASK_MS_MAX,
  ASK_MS_MIN,
  BACKLOG_MS,
  type DeliveryLimits,
  deliveryLimits,
  HURRY_MS,
  LOOK_MS,
  STORE_PAUSE_MS,
} from './limits.ts';
import { CredentialRecovery } from './credential-recovery.ts';
import { Planner } from './planning/planner.ts';
import { PlanningPace } from './planning/planning-pace.ts';
import type { OpenCircuit, PipelinePorts } from './ports.ts';
import { Poller } from './poller.ts';
import { StoreAccess } from './store-access.ts';

export interface PipelineFigures {
  /** Publishes that are being planned. */
  readonly planning: number;
  /** What is held in memory. */
  readonly jobs: number;
  readonly devices: number;
  /** Sends without an outcome yet. */
  readonly sending: number;
  /** Devices by what became of them, since the start; one that was tried again each time. */
  readonly outcomes: Readonly<Record<Platform, Readonly<OutcomeCounts>>>;
  /** The routes that are not used now. */
  readonly pauses: readonly OpenCircuit[];
  /** What waits in the store, of all servers, as it was counted last; `undefined`: not yet. */
  readonly backlog: Pick<DeliveryBacklog, 'pages' | 'retries'> | undefined;
  /** For how long what waits longest has been due. */
  readonly lagMs: number;
}

export interface Pipeline {
  /** There may be something new: so many publishes were accepted, or an instance has another gateway. */
  wake(accepted?: number): void;
  /** Settles when nothing is under route any more, within a bounded time; what is not done is left in the store. */
  stop(): Promise<void>;
  figures(): PipelineFigures;
}

/** Begins to deliver what waits in the store, and what will. */
export function createPipeline(ports: PipelinePorts): Pipeline {
  return new RunningPipeline(ports);
}

class RunningPipeline implements Pipeline {
  private readonly ports: PipelinePorts;
  private readonly limits: DeliveryLimits;
  private readonly access: StoreAccess;
  private readonly deliverer: Deliverer;
  private readonly planner: Planner;
  private readonly planning: Poller;
  private readonly pace = new PlanningPace();
  private readonly claiming: Poller;
  private readonly mended: CredentialRecovery;
  private readonly hurrying: Poller;
  private readonly others: readonly Poller[];
  private cancelLook: () => void;
  private lookedAtMs: number;
  /** Whether there may be more to claim once there is room. */
  private mayHaveMore = true;
  /** What servers had claimed that have died is there again. */
  private ready: Promise<unknown> | undefined;
  private backlog: DeliveryBacklog | undefined;
  private stopping: Promise<void> | undefined;

  constructor(ports: PipelinePorts) {
    const { timers, notices, limits = deliveryLimits } = ports;
    this.ports = ports;
    this.limits = limits;
    this.access = new StoreAccess(timers, notices);
    this.deliverer = new Deliverer(ports, limits, this.access, {
      room: (hasRetries) => {
        // Retries are due sooner than it was known when it was asked last.
        if (this.mayHaveMore || hasRetries) this.claiming.wake();
      },
      resumed: (pause) => {
        if (this.mended.add(pause)) this.hurrying.wake();
      },
    });
    this.mended = new CredentialRecovery(ports, this.access, () => this.deliverer.pauses());
    this.planner = new Planner(ports, limits, this.access, this.deliverer, {
      ended: () => this.planning.wake(),
      left: () => this.claiming.wake(),
    });
    this.planning = new Poller(timers, () => this.guarded(() => this.claimPlanning()));
    this.claiming = new Poller(timers, () => this.guarded(() => this.claimJobs()));
    this.hurrying = new Poller(timers, () => this.guarded(() => this.hurry()));
    this.others = [
      this.hurrying,
      new Poller(timers, () => this.guarded(() => this.renew())),
      new Poller(timers, () => this.guarded(() => this.countBacklog())),
    ];
    this.lookedAtMs = timers.now();
    this.cancelLook = timers.after(LOOK_MS, () => this.look());
    for (const poller of this.pollers()) poller.wake();
  }

  wake(accepted = 0): void {
    this.pace.accepted(accepted, this.ports.timers.now());
    this.deliverer.checkGateways();
    this.wakeBoth();
  }

  stop(): Promise<void> {
    this.stopping ??= this.end();
    return this.stopping;
  }

  figures(): PipelineFigures {
    const { timers } = this.ports;
    const { held, counts, sending } = this.deliverer;
    const oldestDueAtMs = this.backlog?.oldestDueAtMs;
    return {
      planning: this.planner.held().length,
      jobs: held.room.jobs,
      devices: held.room.devices,
      sending,
      outcomes: { apns: { ...counts.apns }, fcm: { ...counts.fcm }, web: { ...counts.web } },
      pauses: this.deliverer.pauses(),
      backlog: this.backlog && { pages: this.backlog.pages, retries: this.backlog.retries },
      lagMs: oldestDueAtMs === undefined ? 0 : Math.max(0, timers.now() - oldestDueAtMs),
    };
  }

  private pollers(): readonly Poller[] {
    return [this.planning, this.claiming, ...this.others];
  }

  private wakeBoth(): void {
    this.planning.wake();
    this.claiming.wake();
  }

  /** What the store cannot do now is done later. */
  private async guarded(run: () => Promise<number>): Promise<number> {
    try {
      if (this.ports.isAlone) {
        this.ready ??= this.access.insist(() => this.ports.store.release('everybodys'));
        await this.ready;
      }
      return await run();
    } catch (error) {
      if (!this.access.wasTold(error)) this.ports.notices.fault(error);
      return STORE_PAUSE_MS;
    }
  }

  private async claimPlanning(): Promise<number> {
    const { store, timers } = this.ports;
    const most = this.planner.room;
    // Whoever ends makes room, and wakes this.
    if (most === 0) return ASK_MS_MAX;
    const nowMs = timers.now();
    const waitMs = this.pace.waitMs(nowMs);
    if (waitMs > 0) return waitMs;
    const untilMs = nowMs + this.limits.leaseMs;
    const except = this.planner.except();
    const ofEach = this.planner.roomOfEach;
    const claims = await this.access.ask(() =>
      store.claimPlanning(nowMs, untilMs, most, except, ofEach),
    );
    for (const claim of claims) this.planner.plan(claim);
    if (claims.length === 0) return await this.untilDue(except);
    this.pace.began(nowMs);
    this.planning.wake();
    return 0;
  }

  private async claimJobs(): Promise<number> {
    const { store, timers } = this.ports;
    const { jobsAtOnce, retriesAtOnce, leaseMs } = this.limits;
    const except = this.deliverer.except();
    const nowMs = timers.now();
    this.mayHaveMore = false;
    const jobs = await this.access.ask(() =>
      store.claimJobs(nowMs, nowMs + leaseMs, jobsAtOnce, retriesAtOnce, except),
    );
    this.mayHaveMore ||= jobs.length > 0 || except.length > 0;
    // They are in memory before more is asked for: only then is it known how much there is.
    await Promise.all(jobs.map((job) => this.deliverer.deliverClaimed(job)));
    if (jobs.length > 0) this.claiming.wake();
    return jobs.length > 0 ? 0 : await this.untilDue(except);
  }

  /** Milliseconds until it is worth asking again, where nobody says so before. */
  private async untilDue(except: readonly number[]): Promise<number> {
    const dueAtMs = await this.access.ask(() => this.ports.store.nextDue(except));
    // An instance that is left out may come in again, and only some of them say so.
    const mostMs = except.length > 0 ? LOOK_MS : ASK_MS_MAX;
    if (dueAtMs === undefined) return mostMs;
    const pauseMs = dueAtMs - this.ports.timers.now();
    // It is due, but of the other kind of work, or another server was faster.
    if (pauseMs <= 0) return ASK_MS_IN_VAIN;
    return Math.min(mostMs, Math.max(ASK_MS_MIN, pauseMs));
  }

  private async renew(): Promise<number> {
    const { store, timers } = this.ports;
    const { leaseMs, renewMs } = this.limits;
    const nowMs = timers.now();
    // A claim that has ended may be somebody else's by now.
    const works = this.deliverer.held.all().filter(({ leasedUntilMs }) => leasedUntilMs > nowMs);
    const plannings = this.planner.held();
    if (works.length === 0 && plannings.length === 0) return renewMs;
    const jobs = works.map(({ job }) => job);
    await this.access.ask(() => store.extend({ plannings, jobs }, nowMs + leaseMs));
    for (const work of works) work.leasedUntilMs = nowMs + leaseMs;
    return renewMs;
  }

  private async hurry(): Promise<number> {
    // Whoever adds one wakes this.
    if (this.mended.isEmpty) return ASK_MS_MAX;
    await this.mended.bringSome();
    this.claiming.wake();
    return HURRY_MS;
  }

  private async countBacklog(): Promise<number> {
    this.backlog = await this.access.ask(() => this.ports.store.backlog());
    return BACKLOG_MS;
  }

  private look(): void {
    const { timers } = this.ports;
    const nowMs = timers.now();
    this.cancelLook = timers.after(LOOK_MS, () => this.look());
    const passedMs = nowMs - this.lookedAtMs;
    if (passedMs < 0) void this.startAnew(nowMs, this.lookedAtMs + LOOK_MS);
    // A clock that was set back says nothing of how much time has passed.
    this.deliverer.look(passedMs < 0 ? LOOK_MS : passedMs);
    this.lookedAtMs = nowMs;
  }

  /** The clock was set back. What is held here is claimed again in the same commit that lets go of all. */
  private async startAnew(nowMs: number, beforeMs: number): Promise<void> {
    const { store } = this.ports;
    await this.access.insist(() =>
      Promise.all([store.clockSetBack(nowMs, beforeMs), this.renew()]),
    );
    this.wakeBoth();
  }

  private async end(): Promise<void> {
    const { store, timers } = this.ports;
    this.cancelLook();
    const others = [this.planner.stop(), ...this.pollers().map((poller) => poller.stop())];
    await this.deliverer.stop();
    this.access.giveUp();
    // A store that gives no answer is not waited for.
    await Promise.race([Promise.all(others), after(timers, this.limits.storeStopMs)]);
    try {
      await this.access.ask(() => store.release('mine'));
    } catch {
      // It was told. What was claimed is free when the claims end.
    }
  }
}

function after(timers: PipelinePorts['timers'], ms: number): Promise<void> {
  return new Promise((resolve) => {
    timers.after(ms, resolve);
  });
}
