import type {
  BringForward,
  BroughtForward,
  JobStore,
  WantedJobs,
} from '../../src/push/job-store.ts';
import { capEndedAtMs, OVER_CAP, overCapWords, type PageCap } from '../../src/push/model/cap.ts';
import {
  type AfterJob,
  type AfterPart,
  type ClaimedPlan,
  type DeliveryBacklog,
  type DeviceResult,
  type Job,
  type JobResults,
  type LeftOutDevices,
  type PublishUnderWay,
  type RetryCursor,
  WAITED_FOR_ITS_TURN,
} from '../../src/push/model/delivery.ts';
import { TOO_MANY_FOR_DEVICE } from '../../src/push/model/device-pause.ts';
import { LATE_MS, Pace } from '../../src/push/model/pace.ts';
import type {
  AddedPage,
  PlanEnd,
  PlanningStore,
  PlanPostponed,
  StoredPage,
  WantedPlans,
} from '../../src/push/planning-store.ts';
import type { OwnClaims, WorkClaims } from '../../src/push/work-claims.ts';
import {
  claimFairly,
  claimOfBoth,
  oneByOne,
  roundRobin,
} from '../../src/stores/push/jobs/fair-claims.ts';
import type { MemoryDevices } from './devices.ts';
import { liveOfPlan } from './live.ts';
import { endWaiting, spacedOut } from './paused-devices.ts';
import type { Claimable, Fate, KeptPage, KeptPublish, MemoryPublishes } from './publishes.ts';
import {
  afterwards,
  fateOf,
  finishPage,
  finishRetries,
  forget,
  isClaimedBy,
  keepUsers,
  nextReadyAtMs,
  touch,
} from './results.ts';

/** A device that waits for another attempt. */
interface Waiting {
  readonly kept: KeptPublish;
  readonly device: number;
  readonly fate: Fate;
}

/** Plans, jobs and claims in memory. Two of them on the same publishes are two servers on one store. */
export class MemoryDeliveries implements PlanningStore, JobStore, WorkClaims {
  private readonly publishes: MemoryPublishes;
  private readonly devices: MemoryDevices;
  private readonly server = crypto.randomUUID();
  private planningTurn = 0;
  private jobsTurn = 0;
  private pagesFirst = false;

  constructor(publishes: MemoryPublishes, devices: MemoryDevices) {
    this.publishes = publishes;
    this.devices = devices;
    devices.onNewToken = (device, nowMs) => endWaiting(publishes, device, nowMs);
  }

  async claimPlans({
    nowMs,
    untilMs,
    limit,
    limitPerInstance,
    except,
  }: WantedPlans): Promise<readonly ClaimedPlan[]> {
    const claims: ClaimedPlan[] = [];
    const due = this.live(except).filter(({ plan }) => isDue(plan, nowMs));
    const instances = new Set(due.map(({ publish }) => publish.instance));
    const last = await claimFairly({
      owners: roundRobin(instances, this.planningTurn),
      limit,
      limitPerOwner: limitPerInstance,
      claim: oneByOne(async (instance, count) => {
        const some = due
          .filter(({ publish, plan }) => publish.instance === instance && isDue(plan, nowMs))
          .sort((a, b) => byReady(a.plan, b.plan) || a.number - b.number)
          .slice(0, count)
          .sort((a, b) => a.number - b.number);
        for (const kept of some) {
          this.claim(kept.plan, untilMs);
          const after = kept.plan.upTo;
          const { taken } = kept.plan;
          claims.push({ publish: underWay(kept), after, taken, live: liveOfPlan(kept, nowMs) });
        }
        return some.length;
      }),
    });
    this.planningTurn = last ?? this.planningTurn;
    return claims;
  }

  async addPage({
    publish,
    page: { after, upTo, devices, planned, isLast = false, dues = [], leftOut = [], taken },
    claimedUntilMs,
    heldUntilMs,
    cap,
  }: AddedPage): Promise<StoredPage | undefined> {
    const kept = this.publishes.byNumber(publish);
    if (kept === undefined || kept.over !== undefined) return undefined;
    if (kept.plan.ended || kept.plan.upTo !== after) return undefined;
    kept.plan.upTo = upTo;
    if (taken !== undefined) kept.plan.taken = taken;
    if (isLast) {
      kept.plan.ended = true;
      forget(kept.plan);
    }
    const number = this.pages().length + 1;
    const overCap = this.overCap(cap);
    const later = dues.flatMap((due) => due.devices);
    const dueAtMs = later.length === devices.length ? (dues[0]?.atMs ?? 0) : kept.dueAtMs;
    kept.pages.push({
      number,
      devices,
      planned,
      fates: new Map(),
      state: 'waiting',
      isHeld: heldUntilMs !== undefined,
      dueAtMs,
      dues,
      leftOut: [...leftOut, ...overCap],
      readyAtMs: claimedUntilMs ?? heldUntilMs ?? dueAtMs,
      claimedBy: claimedUntilMs === undefined ? undefined : this.server,
    });
    return { page: number, overCap };
  }

  /** Counts a notification for each device that has room, and returns the others. */
  private overCap(cap: PageCap | undefined): readonly LeftOutDevices[] {
    const over: LeftOutDevices[] = [];
    for (const device of cap?.devices ?? []) {
      if (cap === undefined) break;
      const { caps } = this.devices;
      const before = caps.get(device);
      if (before === undefined || before.sinceMs <= capEndedAtMs(cap)) {
        caps.set(device, { sinceMs: cap.nowMs, used: 1 });
      } else if (before.used < cap.notifications) before.used++;
      else {
        const words = overCapWords(cap, before.sinceMs);
        over.push({ what: 'failed', reason: OVER_CAP, words, devices: [device] });
      }
    }
    return over;
  }

  async postponePlan({ publish, after, untilMs }: PlanPostponed): Promise<void> {
    const kept = this.publishes.byNumber(publish);
    if (kept === undefined || kept.over !== undefined) return;
    const { plan } = kept;
    if (plan.ended || plan.upTo !== after || plan.claimedBy !== this.server) return;
    plan.readyAtMs = untilMs;
    plan.claimedBy = undefined;
  }

  async endPlanning({ publish, after, nowMs }: PlanEnd): Promise<AfterJob> {
    const kept = this.publishes.byNumber(publish);
    if (kept?.over?.state === 'cancelled') return 'cancelled';
    if (kept === undefined || kept.plan.ended || kept.plan.upTo !== after) return 'stale';
    kept.plan.ended = true;
    forget(kept.plan);
    return afterwards(kept, nowMs);
  }

  async extend({ plans, jobs }: OwnClaims, untilMs: number): Promise<void> {
    const claimed = [
      ...plans.map((publish) => this.publishes.byNumber(publish)?.plan),
      ...jobs.flatMap((job) => this.claimed(job)),
    ];
    for (const one of claimed) {
      if (one?.readyAtMs === undefined || one.claimedBy !== this.server) continue;
      one.readyAtMs = untilMs;
    }
  }

  async hold(jobs: readonly Job[], readyAtMs: number): Promise<void> {
    for (const job of jobs) {
      const isOver = this.publishes.byNumber(job.publish.number)?.over !== undefined;
      for (const one of this.claimed(job)) {
        if (one?.readyAtMs === undefined || one.claimedBy !== this.server) continue;
        one.readyAtMs = readyAtMs;
        if (!isOver) one.claimedBy = undefined;
        if ('isHeld' in one) one.isHeld = true;
      }
    }
  }

  async claimJobs(wanted: WantedJobs): Promise<readonly Job[]> {
    const { nowMs, untilMs, limit, devicesPerJob, except } = wanted;
    const jobs: Job[] = [];
    let hasClaimed = false;
    const instances = new Set(
      this.live(except)
        .filter((kept) => nextReadyAtMs(kept) <= nowMs)
        .map(({ publish }) => publish.instance),
    );
    if (instances.size === 0) return [];
    this.pagesFirst = !this.pagesFirst;
    const last = await claimFairly({
      owners: roundRobin(instances, this.jobsTurn),
      limit,
      claim: oneByOne(async (instance, count) => {
        const pages = async (some: number) => {
          const due = this.duePages(instance, nowMs).slice(0, some);
          due.sort(([, a], [, b]) => a.number - b.number);
          hasClaimed ||= due.length > 0;
          for (const [kept, page] of due)
            jobs.push(...this.claimPage(kept, page, { nowMs, untilMs }));
          return due.length;
        };
        const retries = async (some: number) => {
          for (let taken = 0; ; ) {
            const due = this.dueRetries(instance, nowMs).slice(0, devicesPerJob);
            const groups = Map.groupBy(due, ({ kept, fate }) => `${kept.number} ${fate.platform}`);
            const wanted = [...groups.values()].slice(0, some - taken);
            for (const group of wanted) jobs.push(...this.claimRetries(group, untilMs));
            taken += wanted.length;
            if (taken === some || due.length < devicesPerJob) return taken;
          }
        };
        return this.pagesFirst
          ? await claimOfBoth(count, pages, retries)
          : await claimOfBoth(count, retries, pages);
      }),
    });
    this.jobsTurn = last ?? this.jobsTurn;
    // All that was claimed is cancelled, or was too late and is due later now.
    return jobs.length === 0 && hasClaimed ? await this.claimJobs(wanted) : jobs;
  }

  async settle({ job, results, nowMs }: JobResults): Promise<AfterJob> {
    if (job.what === 'page' && job.nextDueMs !== undefined) {
      const after = await this.settlePart({ job, results, nowMs });
      const page = this.pages().find(({ number }) => number === job.page);
      if (after === 'stale' || page === undefined) return after;
      if (after === 'cancelled') {
        page.state = 'cancelled';
        forget(page);
        return after;
      }
      page.dueAtMs = job.nextDueMs;
      page.readyAtMs = job.nextDueMs;
      page.claimedBy = undefined;
      return after;
    }
    this.changeDevices(results, nowMs);
    const kept = this.publishes.byNumber(job.publish.number);
    if (kept === undefined) return 'stale';
    const spaced = spacedOut(this.publishes, kept, results, nowMs);
    const byDevice = new Map(spaced.map((result) => [result.device, result]));
    const settled = { server: this.server, results: byDevice, nowMs };
    const page = job.what === 'page' ? kept.pages.find(({ number }) => number === job.page) : null;
    const fresh = results.filter(({ device }) => page?.fates.has(device) !== true);
    const isKept =
      job.what === 'page'
        ? finishPage(kept, { ...settled, number: job.page })
        : finishRetries(kept, { ...settled, devices: job.devices });
    if (!isKept) return 'stale';
    if (kept.publish.target.kind === 'users') keepUsers(kept, fresh);
    return afterwards(kept, nowMs);
  }

  async settlePart({ job, results, nowMs }: JobResults): Promise<AfterPart> {
    if (job.what === 'retries') {
      const after = await this.settle({ job, results, nowMs });
      return after === 'finished' ? 'under-way' : after;
    }
    this.changeDevices(results, nowMs);
    const kept = this.publishes.byNumber(job.publish.number);
    const page = kept?.pages.find(({ number }) => number === job.page);
    if (kept === undefined || !isClaimedBy(page, this.server)) return 'stale';
    const fresh = results.filter(({ device }) => !page.fates.has(device));
    for (const result of spacedOut(this.publishes, kept, fresh, nowMs)) {
      const { platform } = result;
      page.fates.set(result.device, fateOf(kept, { platform, result, attempt: 1, nowMs }));
    }
    if (fresh.length > 0) touch(page, nowMs);
    if (kept.publish.target.kind === 'users') keepUsers(kept, fresh);
    return kept.over?.state === 'cancelled' ? 'cancelled' : 'under-way';
  }

  async bringForward({
    waiting: { instance, platform, reason },
    nowMs,
    limit,
    most = limit,
    after,
  }: BringForward): Promise<BroughtForward> {
    const from = after ?? { dueAtMs: nowMs, publish: 0, device: 0 };
    const line = this.dueRetries(instance, Number.POSITIVE_INFINITY)
      .map((waiting) => ({ waiting, place: placeOf(waiting) }))
      .filter(({ place }) => isBehind(place, from))
      .slice(0, limit);
    const matching = line.filter(
      ({ waiting: { fate } }) =>
        fate.platform === platform && fate.reason === reason && fate.claimedBy === undefined,
    );
    const brought = matching.slice(0, most);
    for (const { waiting } of brought) {
      Object.assign(waiting.fate, { dueAtMs: nowMs, readyAtMs: nowMs });
    }
    const isAll = brought.length === matching.length;
    const next = isAll ? line.at(-1)?.place : brought.at(-1)?.place;
    return { devices: brought.length, next: isAll && line.length < limit ? undefined : next };
  }

  async nextDue(except: readonly number[] = []): Promise<number | undefined> {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const kept of this.live(except)) {
      nextMs = Math.min(nextMs, kept.plan.readyAtMs ?? nextMs, nextReadyAtMs(kept));
    }
    return nextMs === Number.POSITIVE_INFINITY ? undefined : nextMs;
  }

  async release(whose: 'own' | 'all'): Promise<void> {
    const end = (one: Claimable, dueAtMs: number) => {
      const isMeant = whose === 'own' ? one.claimedBy === this.server : one.claimedBy !== undefined;
      if (one.readyAtMs !== undefined && isMeant) one.readyAtMs = dueAtMs;
    };
    for (const kept of this.publishes.all()) {
      end(kept.plan, kept.dueAtMs);
      for (const page of kept.pages) {
        end(page, page.dueAtMs);
        for (const fate of page.fates.values()) end(fate, fate.dueAtMs);
      }
    }
  }

  async clockSetBack(nowMs: number, beforeMs: number): Promise<void> {
    for (const kept of this.publishes.all()) {
      const fates = kept.pages.flatMap((page) => [...page.fates.values()]);
      for (const one of [kept.plan, ...kept.pages, ...fates]) {
        if (one.readyAtMs === undefined || one.readyAtMs <= nowMs) continue;
        const isHeld = 'isHeld' in one && one.isHeld === true;
        const wasDue = one.claimedBy === undefined && (isHeld || one.readyAtMs <= beforeMs);
        if (wasDue || one.claimedBy === this.server) one.readyAtMs = nowMs;
      }
      for (const fate of fates) {
        if (fate.claimedBy !== undefined || (fate.readyAtMs ?? 0) <= beforeMs) continue;
        fate.dueAtMs -= beforeMs - nowMs;
        fate.readyAtMs = fate.dueAtMs;
      }
    }
  }

  async backlog(): Promise<DeliveryBacklog> {
    const all = this.publishes.all().flatMap(({ pages }) => pages);
    const waits = (some: readonly Claimable[]) =>
      some.filter(({ readyAtMs }) => readyAtMs !== undefined).length;
    return {
      pages: waits(all),
      retries: waits(all.flatMap(({ fates }) => [...fates.values()])),
      oldestDueAtMs: await this.nextDue(),
    };
  }

  private changeDevices(results: readonly DeviceResult[], nowMs: number): void {
    for (const result of results) {
      if (result.what === 'accepted') {
        if (result.firstToken !== undefined) {
          this.devices.accept(result.device, result.firstToken, nowMs);
        }
        if (result.endsPause) this.devices.endPause(result.device);
      } else if (result.what === 'pruned') this.devices.prune(result, nowMs);
      else if (result.pause !== undefined) this.devices.pause(result.device, result.pause);
    }
  }

  /** The publishes of existing instances, except those of `except`. */
  private live(except: readonly number[]): readonly KeptPublish[] {
    return this.publishes
      .unfinished()
      .filter(
        ({ publish: { instance } }) => this.devices.has(instance) && !except.includes(instance),
      );
  }

  private pages(): readonly KeptPage[] {
    return this.publishes.all().flatMap(({ pages }) => pages);
  }

  private claim(one: Claimable, untilMs: number): void {
    one.readyAtMs = untilMs;
    one.claimedBy = this.server;
  }

  /** What a job has claimed. */
  private claimed(job: Job): readonly (KeptPage | Fate | undefined)[] {
    if (job.what === 'page') return this.pages().filter(({ number }) => number === job.page);
    const pages = this.publishes.byNumber(job.publish.number)?.pages ?? [];
    return job.devices.map((device) =>
      pages.find(({ fates }) => fates.has(device))?.fates.get(device),
    );
  }

  private duePages(instance: number, nowMs: number): [KeptPublish, KeptPage][] {
    return this.publishes
      .unfinished()
      .filter(({ publish }) => publish.instance === instance)
      .flatMap((kept) => kept.pages.map((page): [KeptPublish, KeptPage] => [kept, page]))
      .filter(([, page]) => isDue(page, nowMs))
      .sort(([, a], [, b]) => byReady(a, b) || a.number - b.number);
  }

  private dueRetries(instance: number, nowMs: number): Waiting[] {
    const due: Waiting[] = [];
    for (const kept of this.publishes.unfinished()) {
      if (kept.publish.instance !== instance) continue;
      for (const { fates } of kept.pages) {
        for (const [device, fate] of fates) {
          if (isDue(fate, nowMs)) due.push({ kept, device, fate });
        }
      }
    }
    return due.sort(
      (a, b) => byReady(a.fate, b.fate) || a.kept.number - b.kept.number || a.device - b.device,
    );
  }

  private claimPage(
    kept: KeptPublish,
    page: KeptPage,
    { nowMs, untilMs }: Pick<WantedJobs, 'nowMs' | 'untilMs'>,
  ): readonly Job[] {
    if (kept.over !== undefined) {
      page.state = 'cancelled';
      forget(page);
      return [];
    }
    page.isHeld = false;
    if (this.movesIfLate(kept, page, nowMs)) return [];
    this.claim(page, untilMs);
    const later = page.dues.filter(({ atMs }) => atMs > nowMs);
    const isLater = (device: number) => later.some((due) => due.devices.includes(device));
    const devices = page.devices.filter((device) => !page.fates.has(device) && !isLater(device));
    const leftOut = new Map(
      page.leftOut.flatMap(({ devices: some, ...why }) => some.map((one) => [one, why] as const)),
    );
    return [
      {
        what: 'page',
        page: page.number,
        publish: underWay(kept),
        devices,
        claimedUntilMs: untilMs,
        ...(later.length > 0 && { nextDueMs: Math.min(...later.map(({ atMs }) => atMs)) }),
        ...(leftOut.size > 0 && { leftOut }),
        pacedMs: pacedMsOf(page),
      },
    ];
  }

  /** See `moveIfLate` of the store. */
  private movesIfLate(kept: KeptPublish, page: KeptPage, nowMs: number): boolean {
    const isOpen = (device: number) => !page.fates.has(device);
    const late = page.dues.filter(
      ({ atMs, pacedMs, devices }) =>
        pacedMs !== undefined && atMs < nowMs - LATE_MS && devices.some(isOpen),
    );
    if (late.length === 0) return false;
    const { plan, publish } = kept;
    page.claimedBy = undefined;
    if (!plan.ended && plan.claimedBy !== undefined) {
      page.readyAtMs = nowMs + 5000;
      return true;
    }
    const pace = new Pace(JSON.parse(publish.body).perSecond, plan.taken);
    page.dues = page.dues.map((due) => {
      if (!late.includes(due)) return due;
      const atMs = pace.take(nowMs, due.devices.filter(isOpen).length);
      return { ...due, atMs, pacedMs: (due.pacedMs ?? 0) + atMs - nowMs };
    });
    plan.taken = pace.taken;
    const open = page.dues.filter(({ devices }) => devices.some(isOpen));
    page.dueAtMs = Math.min(...open.map(({ atMs }) => atMs));
    page.readyAtMs = page.dueAtMs;
    return true;
  }

  /** Claims retries of one publish and platform. */
  private claimRetries(group: readonly Waiting[], untilMs: number): readonly Job[] {
    const ordered = group.toSorted((a, b) => a.device - b.device);
    const [first] = ordered;
    if (first === undefined) return [];
    if (first.kept.over !== undefined) {
      for (const { fate } of ordered) {
        fate.state = 'cancelled';
        forget(fate);
      }
      return [];
    }
    for (const { fate } of ordered) this.claim(fate, untilMs);
    return [
      {
        what: 'retries',
        platform: first.fate.platform,
        retries: ordered.map(({ device, fate: { attempts, reason, pacedMs } }) => ({
          device,
          attempts,
          pacedMs,
          endedFor: reason === TOO_MANY_FOR_DEVICE ? reason : undefined,
          hasWaited: reason === WAITED_FOR_ITS_TURN,
        })),
        publish: underWay(first.kept),
        devices: ordered.map(({ device }) => device),
        claimedUntilMs: untilMs,
      },
    ];
  }
}

function pacedMsOf({ dues }: KeptPage): ReadonlyMap<number, number> | undefined {
  const paced = dues.filter(({ pacedMs = 0 }) => pacedMs > 0);
  return paced.length === 0
    ? undefined
    : new Map(
        paced.flatMap(({ devices, pacedMs = 0 }) => devices.map((one) => [one, pacedMs] as const)),
      );
}

function underWay({ number, publish, dueAtMs }: KeptPublish): PublishUnderWay {
  const { id, instance, target, body, createdAtMs } = publish;
  return { number, id, instance, kind: target.kind, body, createdAtMs, dueAtMs };
}

function isDue({ readyAtMs }: Claimable, nowMs: number): boolean {
  return readyAtMs !== undefined && readyAtMs <= nowMs;
}

function placeOf({ kept, device, fate }: Waiting): RetryCursor {
  return { dueAtMs: fate.readyAtMs ?? 0, publish: kept.number, device };
}

function isBehind(place: RetryCursor, other: RetryCursor): boolean {
  const distance =
    place.dueAtMs - other.dueAtMs || place.publish - other.publish || place.device - other.device;
  return distance > 0;
}

function byReady(a: Claimable, b: Claimable): number {
  return (a.readyAtMs ?? 0) - (b.readyAtMs ?? 0);
}
