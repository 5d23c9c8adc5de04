import type {
  AskedToGiveWay,
  BacklogStore,
  GaveWay,
  WaitingPublishes,
  WaitingQuery,
} from '../../src/push/backlog-store.ts';
import { type Platform, platforms } from '../../src/push/model/device.ts';
import type { MemoryDevices } from './devices.ts';
import type { Fate, KeptPage, KeptPublish, MemoryPublishes } from './publishes.ts';

/** Makes room among publishes in memory. */
export class MemoryBacklog implements BacklogStore {
  private readonly publishes: MemoryPublishes;
  private readonly devices: MemoryDevices;

  constructor(publishes: MemoryPublishes, devices: MemoryDevices) {
    this.publishes = publishes;
    this.devices = devices;
  }

  async pendingBytes({ instance }: { readonly instance: number }): Promise<number> {
    return this.publishes.pendingBytes(instance);
  }

  async waiting({ instance, after }: WaitingQuery): Promise<WaitingPublishes> {
    const waiting = this.publishes
      .all()
      .filter(({ publish, number }) => publish.instance === instance && number > after)
      .filter((kept) => waitsForFailures(kept));
    return {
      publishes: waiting.map((kept) => ({
        number: kept.number,
        bytes: Buffer.byteLength(kept.publish.body),
        platform: platforms.toSorted((a, b) => waitingOn(kept, b) - waitingOn(kept, a))[0] ?? 'fcm',
      })),
      next: undefined,
    };
  }

  async giveWay({ instance, publishes, nowMs }: AskedToGiveWay): Promise<GaveWay> {
    const leaving = this.publishes
      .all()
      .filter(({ publish, number }) => publish.instance === instance && publishes.includes(number))
      .filter((kept) => waitsForFailures(kept));
    const devices = { apns: 0, fcm: 0, web: 0 };
    for (const kept of leaving) {
      for (const platform of platforms) devices[platform] += waitingOn(kept, platform);
      if (kept.publish.target.kind === 'users') this.failUsers(kept);
      for (const page of heldPages(kept)) {
        page.state = 'cancelled';
        page.readyAtMs = undefined;
      }
      // They stay due: the server that claims them finds them cancelled.
      for (const fate of retriesOf(kept)) fate.state = 'cancelled';
      kept.over = { state: 'finished', atMs: nowMs, gaveWay: true };
    }
    return {
      publishes: leaving.map(({ publish }) => publish.id),
      devices,
      bytes: leaving.reduce((sum, { publish }) => sum + Buffer.byteLength(publish.body), 0),
    };
  }

  private failUsers({ publish, pages, users }: KeptPublish): void {
    const waiting = pages.flatMap((page) =>
      page.devices.filter((device) => {
        const fate = page.fates.get(device);
        return fate === undefined ? isHeld(page) : fate.state === 'retrying';
      }),
    );
    for (const { number, userId } of this.devices.of(publish.instance)) {
      if (userId === undefined || !waiting.includes(number) || users.has(userId)) continue;
      users.set(userId, false);
    }
  }
}

function waitsForFailures(kept: KeptPublish): boolean {
  const { pages, plan, over } = kept;
  if (over !== undefined || !plan.ended) return false;
  const others = pages.filter(({ state }) => state === 'waiting').length - heldPages(kept).length;
  const isTried = retriesOf(kept).some(({ claimedBy }) => claimedBy !== undefined);
  return others === 0 && !isTried && platforms.some((one) => waitingOn(kept, one) > 0);
}

function heldPages({ pages }: KeptPublish): readonly KeptPage[] {
  return pages.filter(
    (page) => page.state === 'waiting' && isHeld(page) && page.claimedBy === undefined,
  );
}

function retriesOf({ pages }: KeptPublish): readonly Fate[] {
  return pages
    .flatMap(({ fates }) => [...fates.values()])
    .filter(({ state }) => state === 'retrying');
}

/** The unfinished devices of a platform. */
function waitingOn(kept: KeptPublish, platform: Platform): number {
  const onPages = heldPages(kept).map(({ planned, fates }) => {
    const known = [...fates.values()].filter((fate) => fate.platform === platform);
    return planned[platform] - known.length;
  });
  const retrying = retriesOf(kept).filter((fate) => fate.platform === platform).length;
  return onPages.reduce((sum, devices) => sum + devices, retrying);
}

/** Other devices of a page that has some for later are untried. */
function isHeld(page: KeptPage): boolean {
  return page.isHeld && page.dues.length === 0;
}
