import { GAVE_WAY, GIVE_WAY_FROM } from '../../src/push/backlog-store.ts';
import type { LaterDue, LeftOutDevices } from '../../src/push/model/delivery.ts';
import { type Platform, platforms } from '../../src/push/model/device.ts';
import { lastTaken, type TakenTimes } from '../../src/push/model/pace.ts';
import type {
  Acceptance,
  NewPublish,
  PlatformCounts,
  PublishId,
  PublishState,
  PublishStatus,
  Report,
} from '../../src/push/model/publish.ts';
import type {
  AfterCancel,
  KeptReport,
  PublishAt,
  PublishStore,
  ReceivedReport,
} from '../../src/push/publish-store.ts';
import { StoreLost } from '../../src/push/store-faults.ts';
import type { MemoryDevices } from './devices.ts';
import { type KeptLive, liveOf, liveStatusOf, untilAnswered } from './live.ts';

/** Work that may be claimed from a time on, and the server that claimed it last. */
export interface Claimable {
  /** `undefined`: never again. */
  readyAtMs: number | undefined;
  claimedBy: string | undefined;
}

/** The outcome of a delivered page for one device. */
export interface Fate extends Claimable {
  readonly platform: Platform;
  state: 'accepted' | 'retrying' | 'failed' | 'expired' | 'pruned' | 'cancelled';
  atMs: number;
  attempts: number;
  reason: string;
  words: string;
  dueAtMs: number;
  pacedMs: number;
}

export interface KeptPage extends Claimable {
  readonly number: number;
  readonly devices: readonly number[];
  readonly planned: Readonly<Record<Platform, number>>;
  readonly fates: Map<number, Fate>;
  state: 'waiting' | 'delivered' | 'cancelled';
  /** It waits for open circuits only. */
  isHeld: boolean;
  dueAtMs: number;
  dues: readonly LaterDue[];
  readonly leftOut: readonly LeftOutDevices[];
}

export interface KeptPublish {
  readonly number: number;
  readonly publish: NewPublish;
  readonly dueAtMs: number;
  readonly live: KeptLive | undefined;
  /** When each device reported what, by `event device-id`. */
  readonly reports: Map<string, number>;
  readonly plan: Claimable & { upTo: number; ended: boolean; taken?: TakenTimes | undefined };
  readonly pages: KeptPage[];
  /** Whether a device of the user was reached. */
  readonly users: Map<string, boolean>;
  over:
    | {
        readonly state: 'finished' | 'cancelled';
        readonly atMs: number;
        /** The cancelled pages and devices of the publish gave way. */
        readonly gaveWay?: true;
      }
    | undefined;
}

/** Publishes in memory: for tests, and as the simplest implementation of the contract. */
export class MemoryPublishes implements PublishStore {
  private readonly devices: MemoryDevices;
  private readonly publishes = new Map<PublishId, KeptPublish>();
  /** The publish with number 1 is the first one. */
  private readonly numbered: KeptPublish[] = [];
  private readonly keys = new Map<string, NewPublish>();
  private lost = false;

  constructor(devices: MemoryDevices) {
    this.devices = devices;
  }

  lose(): void {
    this.publishes.clear();
    this.numbered.length = 0;
    this.keys.clear();
    this.lost = true;
  }

  /** In the order in which they were accepted. */
  all(): readonly KeptPublish[] {
    return this.numbered;
  }

  byNumber(number: number): KeptPublish | undefined {
    return this.numbered[number - 1];
  }

  /** The publishes whose work may still be claimed. */
  unfinished(): readonly KeptPublish[] {
    return this.all().filter(({ over }) => over?.state !== 'finished' || over.gaveWay === true);
  }

  async accept(publish: NewPublish): Promise<Acceptance> {
    const { instance, devicesMax, idempotency, createdAtMs } = publish;
    const devices = this.devices.counts(instance).accepted;
    if (devicesMax > 0 && devices > devicesMax) return { result: 'over-plan', devices };
    const { pendingBytesMax } = publish;
    const bytes = this.pendingBytes(instance) + Buffer.byteLength(publish.body);
    if (pendingBytesMax > 0 && bytes > pendingBytesMax) return { result: 'too-much-pending' };
    if (idempotency !== undefined) {
      const name = `${instance} ${idempotency.key}`;
      const first = this.keys.get(name);
      if (first?.idempotency !== undefined && first.idempotency.expiresAtMs > createdAtMs) {
        return first.idempotency.fingerprint === idempotency.fingerprint
          ? { result: 'accepted', id: first.id }
          : { result: 'key-taken' };
      }
      this.keys.set(name, publish);
    }
    const dueAtMs = publish.sendAtMs ?? createdAtMs;
    const isAsking = publish.live !== undefined && publish.sendAtMs === undefined;
    const readyAtMs = isAsking ? untilAnswered(publish.live, createdAtMs) : dueAtMs;
    const kept: KeptPublish = {
      number: this.numbered.length + 1,
      publish,
      dueAtMs,
      live: liveOf(publish),
      reports: new Map(),
      plan: { readyAtMs, claimedBy: undefined, upTo: 0, ended: false },
      pages: [],
      users: new Map(),
      over: undefined,
    };
    this.publishes.set(publish.id, kept);
    this.numbered.push(kept);
    const isRoomScarce = pendingBytesMax > 0 && bytes >= pendingBytesMax * GIVE_WAY_FROM;
    return { result: 'accepted', id: publish.id, ...(isRoomScarce ? { isRoomScarce } : {}) };
  }

  /** The bytes of the unfinished publishes of an instance. */
  pendingBytes(instance: number): number {
    return this.all()
      .filter(({ over, publish }) => over === undefined && publish.instance === instance)
      .reduce((sum, { publish }) => sum + Buffer.byteLength(publish.body), 0);
  }

  async status({ instance, id, nowMs }: PublishAt): Promise<PublishStatus | undefined> {
    const kept = this.find(instance, id);
    if (kept === undefined) return undefined;
    const { publish, reports } = kept;
    const nextAtMs = nextAtMsOf(kept);
    const count = (event: Report['event']) =>
      [...reports.keys()].filter((report) => report.startsWith(event)).length;
    return {
      id,
      state: stateOf(kept, nowMs),
      createdAtMs: publish.createdAtMs,
      sendAtMs: publish.sendAtMs,
      nextAtMs,
      lastAtMs: nextAtMs && lastTaken(kept.plan.taken),
      platforms: {
        apns: countsOf(kept, 'apns'),
        fcm: countsOf(kept, 'fcm'),
        web: countsOf(kept, 'web'),
      },
      live: liveStatusOf(kept),
      delivered: count('delivery'),
      opened: count('open'),
      reasons: platforms.flatMap((platform) => reasonsOf(kept, platform)),
    };
  }

  async cancel(publish: PublishAt): Promise<AfterCancel | undefined> {
    const { instance, id, nowMs } = publish;
    const kept = this.find(instance, id);
    const isCancelledNow = kept !== undefined && kept.over === undefined;
    if (isCancelledNow) {
      kept.over = { state: 'cancelled', atMs: nowMs };
      kept.plan.readyAtMs = undefined;
      for (const page of kept.pages) {
        if (page.state === 'waiting' && page.claimedBy === undefined) {
          page.state = 'cancelled';
          page.readyAtMs = undefined;
        }
        // They stay due: the server that claims them finds them cancelled.
        for (const fate of page.fates.values()) {
          if (fate.state === 'retrying' && fate.claimedBy === undefined) fate.state = 'cancelled';
        }
      }
    }
    const status = await this.status(publish);
    return status && isCancelledNow ? { ...status, isCancelledNow } : status;
  }

  async report({
    instance,
    report: { publishId, deviceId, event },
    nowMs,
  }: ReceivedReport): Promise<KeptReport | undefined> {
    const kept = this.find(instance, publishId);
    const device = this.devices.of(instance).find(({ registered }) => registered.id === deviceId);
    if (kept === undefined || device === undefined) return undefined;
    const isReached = kept.pages.some(
      ({ state, devices }) => state !== 'cancelled' && devices.includes(device.number),
    );
    const report = `${event} ${deviceId}`;
    if (!isReached || kept.reports.has(report)) return undefined;
    kept.reports.set(report, nowMs);
    return { userId: device.userId };
  }

  find(instance: number, id: PublishId): KeptPublish | undefined {
    const kept = this.publishes.get(id);
    if (kept?.publish.instance === instance) return kept;
    if (this.lost) throw new StoreLost('everything is lost');
    return undefined;
  }
}

function stateOf({ publish, plan, over }: KeptPublish, nowMs: number): PublishState {
  if (over !== undefined) return over.state;
  if (plan.ended) return 'delivering';
  return publish.sendAtMs !== undefined && publish.sendAtMs > nowMs ? 'scheduled' : 'planning';
}

/** Counts devices one by one, so that none can be counted twice. */
function countsOf({ pages, over }: KeptPublish, platform: Platform): PlatformCounts {
  const fates = pages
    .flatMap((page) => [...page.fates.values()])
    .filter((fate) => fate.platform === platform);
  const count = (state: Fate['state']) => fates.filter((fate) => fate.state === state).length;
  const planned = (some: readonly KeptPage[]) =>
    some.reduce((sum, page) => sum + page.planned[platform], 0);
  // Results of some devices of a cancelled page may have been recorded before.
  const undelivered = (some: readonly KeptPage[]) =>
    planned(some) -
    some.flatMap((page) => [...page.fates.values()]).filter((fate) => fate.platform === platform)
      .length;
  const ended =
    count('cancelled') + undelivered(pages.filter(({ state }) => state === 'cancelled'));
  return {
    planned: planned(pages),
    accepted: count('accepted'),
    retrying: count('retrying'),
    failed: count('failed'),
    pruned: count('pruned'),
    expired: count('expired') + (over?.gaveWay === true ? ended : 0),
    cancelled: over?.gaveWay === true ? 0 : ended,
  };
}

function reasonsOf(kept: KeptPublish, platform: Platform): PublishStatus['reasons'] {
  const { pages, over } = kept;
  const lost = pages
    .flatMap((page) => [...page.fates.values()])
    .filter((fate) => fate.platform === platform)
    .filter(({ state }) => state === 'failed' || state === 'expired' || state === 'pruned');
  const expired = lost.filter(({ state }) => state === 'expired').length;
  const reasons = [...Map.groupBy(lost, ({ reason }) => reason)].map(([reason, fates]) => ({
    platform,
    reason,
    devices: fates.length,
  }));
  const gaveWay = over?.gaveWay === true ? countsOf(kept, platform).expired - expired : 0;
  return [...reasons, { platform, reason: GAVE_WAY, devices: gaveWay }]
    .filter(({ devices }) => devices > 0)
    .sort((a, b) => b.devices - a.devices || (a.reason < b.reason ? -1 : 1));
}

/** When the next devices are due that wait for a time of their own. */
function nextAtMsOf({ pages }: KeptPublish): number | undefined {
  const times = pages.flatMap(({ dues, readyAtMs }) =>
    dues.length === 0 ? [] : (readyAtMs ?? []),
  );
  return times.length === 0 ? undefined : Math.min(...times);
}
