import { type AfterJob, DEVICE_REMOVED, type DeviceResult } from '../../src/push/model/delivery.ts';
import { type Platform, platforms } from '../../src/push/model/device.ts';
import type { Claimable, Fate, KeptPage, KeptPublish } from './publishes.ts';

/** When the first page or device of a publish may be claimed; `Infinity` if none waits. */
export function nextReadyAtMs({ pages }: KeptPublish): number {
  let nextMs = Number.POSITIVE_INFINITY;
  for (const page of pages) {
    nextMs = Math.min(nextMs, page.readyAtMs ?? nextMs);
    for (const { readyAtMs } of page.fates.values()) nextMs = Math.min(nextMs, readyAtMs ?? nextMs);
  }
  return nextMs;
}

/** Ends work: it is never claimed again. */
export function forget(one: Claimable): void {
  one.readyAtMs = undefined;
  one.claimedBy = undefined;
}

export function isClaimedBy(page: KeptPage | undefined, server: string): page is KeptPage {
  return page?.state === 'waiting' && page.claimedBy === server;
}

interface Settled {
  readonly server: string;
  readonly results: ReadonlyMap<number, DeviceResult>;
  readonly nowMs: number;
}

/** Records the results of a page. `false`: this server has not claimed it. */
export function finishPage(
  kept: KeptPublish,
  { number, server, results, nowMs }: Settled & { readonly number: number },
): boolean {
  const page = kept.pages.find((one) => one.number === number);
  if (!isClaimedBy(page, server)) return false;
  page.state = 'delivered';
  forget(page);
  const open = page.devices.filter((device) => !page.fates.has(device));
  const given = open.flatMap((device) => results.get(device) ?? []);
  // Of deleted devices, only their number per platform is known.
  const left = platforms.flatMap((platform) => {
    const known = [...page.fates.values(), ...given].filter((one) => one.platform === platform);
    return Array<Platform>(page.planned[platform] - known.length).fill(platform);
  });
  for (const device of open) {
    const result = results.get(device);
    const platform = result?.platform ?? left.shift();
    if (platform === undefined) throw new Error('more results than devices');
    page.fates.set(device, fateOf(kept, { platform, result, attempt: 1, nowMs }));
  }
  touch(page, nowMs);
  return true;
}

/** A page has one time for all devices that were accepted at the first attempt: that of its latest results. */
export function touch({ fates }: KeptPage, nowMs: number): void {
  for (const fate of fates.values()) {
    if (fate.state === 'accepted' && fate.reason === '') fate.atMs = nowMs;
  }
}

/** Records the results of retries. `false`: this server has claimed none of them. */
export function finishRetries(
  kept: KeptPublish,
  { devices, server, results, nowMs }: Settled & { readonly devices: readonly number[] },
): boolean {
  let isKept = false;
  for (const device of devices) {
    const page = kept.pages.find(({ fates }) => fates.has(device));
    const before = page?.fates.get(device);
    if (before?.claimedBy !== server) continue;
    const result = results.get(device);
    const { platform, attempts } = before;
    const fate = fateOf(kept, { platform, result, attempt: attempts + 1, nowMs });
    const { reason, words } = fate.state === 'accepted' ? before : fate;
    page?.fates.set(device, { ...fate, reason, words });
    isKept = true;
  }
  return isKept;
}

interface Attempted {
  readonly platform: Platform;
  /** `undefined`: the device was deleted before delivery. */
  readonly result: DeviceResult | undefined;
  readonly attempt: number;
  readonly nowMs: number;
}

export function fateOf({ over }: KeptPublish, attempted: Attempted): Fate {
  const { platform, result, attempt, nowMs } = attempted;
  const fate: Fate = {
    platform,
    state: 'failed',
    atMs: nowMs,
    attempts: 0,
    reason: DEVICE_REMOVED,
    words: '',
    dueAtMs: nowMs,
    pacedMs: 0,
    readyAtMs: undefined,
    claimedBy: undefined,
  };
  if (result === undefined) return fate;
  if (result.what === 'accepted') {
    return { ...fate, state: 'accepted', attempts: attempt, reason: '' };
  }
  const { attempts, reason, words } = result;
  const tried = { ...fate, attempts, reason, words };
  if (result.what !== 'retry') return { ...tried, state: result.what };
  if (over !== undefined) return { ...tried, state: 'cancelled' };
  const { dueAtMs, pacedMs = 0 } = result;
  return { ...tried, state: 'retrying', dueAtMs, pacedMs, readyAtMs: dueAtMs };
}

/** Finishes the publish if no work is left. */
export function afterwards(kept: KeptPublish, nowMs: number): AfterJob {
  if (kept.over?.state === 'cancelled') return 'cancelled';
  const waits = !kept.plan.ended || nextReadyAtMs(kept) < Number.POSITIVE_INFINITY;
  if (waits) return 'under-way';
  kept.over = { state: 'finished', atMs: nowMs };
  return 'finished';
}

export function keepUsers({ users }: KeptPublish, results: readonly DeviceResult[]): void {
  for (const result of results) {
    if (result.what === 'retry' || result.what === 'pruned') continue;
    if (result.userId === undefined) continue;
    const isReached = result.what === 'accepted' || users.get(result.userId) === true;
    users.set(result.userId, isReached);
  }
}
