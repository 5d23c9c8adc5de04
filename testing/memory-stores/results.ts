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

/** It will never be claimed again. */
export function forget(one: Claimable): void {
  one.readyAtMs = undefined;
  one.claimedBy = undefined;
}

export function isClaimedBy(page: KeptPage | undefined, server: string): page is KeptPage {
  return page?.state === 'waiting' && page.claimedBy === server;
}

export function finishPage(
  kept: KeptPublish,
  server: string,
  number: number,
  results: ReadonlyMap<number, DeviceResult>,
  nowMs: number,
): boolean {
  const page = kept.pages.find((one) => one.number === number);
  if (!isClaimedBy(page, server)) return false;
  page.state = 'delivered';
  forget(page);
  const open = page.devices.filter((device) => !page.fates.has(device));
  const given = open.flatMap((device) => results.get(device) ?? []);
  // Of devices that are gone, only how many there were of each platform is known.
  const left = platforms.flatMap((platform) => {
    const known = [...page.fates.values(), ...given].filter((one) => one.platform === platform);
    return Array<Platform>(page.planned[platform] - known.length).fill(platform);
  });
  for (const device of open) {
    const result = results.get(device);
    const platform = result?.platform ?? left.shift();
    if (platform === undefined) throw new Error('more results than devices');
    page.fates.set(device, fateOf(kept, platform, result, 1, nowMs));
  }
  touch(page, nowMs);
  return true;
}

/** Of devices that were accepted at once, only one time is known for a page: when results of it were kept last. */
export function touch({ fates }: KeptPage, nowMs: number): void {
  for (const fate of fates.values()) {
    if (fate.state === 'accepted' && fate.reason === '') fate.atMs = nowMs;
  }
}

export function finishRetries(
  kept: KeptPublish,
  server: string,
  devices: readonly number[],
  results: ReadonlyMap<number, DeviceResult>,
  nowMs: number,
): boolean {
  let isKept = false;
  for (const device of devices) {
    const page = kept.pages.find(({ fates }) => fates.has(device));
    const before = page?.fates.get(device);
    if (before?.claimedBy !== server) continue;
    const result = results.get(device);
    const fate = fateOf(kept, before.platform, result, before.attempts + 1, nowMs);
    const { reason, words } = fate.state === 'accepted' ? before : fate;
    page?.fates.set(device, { ...fate, reason, words });
    isKept = true;
  }
  return isKept;
}

export function fateOf(
  { over }: KeptPublish,
  platform: Platform,
  result: DeviceResult | undefined,
  attempt: number,
  nowMs: number,
): Fate {
  const fate: Fate = {
    platform,
    state: 'failed',
    atMs: nowMs,
    attempts: 0,
    reason: DEVICE_REMOVED,
    words: '',
    dueAtMs: nowMs,
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
  return { ...tried, state: 'retrying', dueAtMs: result.dueAtMs, readyAtMs: result.dueAtMs };
}

/** Finishes the publish where nothing waits any more. */
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
