import type { DeviceResult } from '../../src/push/model/delivery.ts';
import {
  DEVICE_PAUSED,
  PAUSED_INTERVAL_MS,
  TOO_MANY_FOR_DEVICE,
  WAITING_PER_DEVICE,
} from '../../src/push/model/device-pause.ts';
import type { Fate, KeptPublish, MemoryPublishes } from './publishes.ts';

/** A publish that waits for the end of a device's pause. */
interface Waiting {
  readonly publish: number;
  readonly fate: Fate;
}

/** The publishes that wait for a device, the oldest first. */
export function waitingFor(publishes: MemoryPublishes, device: number): readonly Waiting[] {
  return publishes.all().flatMap(({ number: publish, pages }) =>
    pages.flatMap(({ fates }) => {
      const fate = fates.get(device);
      const isWaiting = fate?.reason === DEVICE_PAUSED && fate.readyAtMs !== undefined;
      return isWaiting ? { publish, fate } : [];
    }),
  );
}

/** Makes paused devices due one after the other. Where too many publishes wait, the oldest makes room. */
export function spacedOut(
  publishes: MemoryPublishes,
  { number }: KeptPublish,
  results: readonly DeviceResult[],
  nowMs: number,
): readonly DeviceResult[] {
  return results.map((result) => {
    if (result.what !== 'retry' || result.reason !== DEVICE_PAUSED) return result;
    const others = waitingFor(publishes, result.device).filter(({ publish }) => publish !== number);
    const older = others.filter(({ publish }) => publish < number);
    const oldest = older.find(({ fate }) => fate.claimedBy === undefined);
    const dueAtMs = result.dueAtMs + older.length * PAUSED_INTERVAL_MS;
    if (others.length >= WAITING_PER_DEVICE && oldest !== undefined) {
      Object.assign(oldest.fate, { reason: TOO_MANY_FOR_DEVICE, dueAtMs: nowMs, readyAtMs: nowMs });
    }
    return { ...result, dueAtMs };
  });
}

/** Makes everything due that waits for a device. */
export function endWaiting(publishes: MemoryPublishes, device: number, nowMs: number): void {
  for (const { fate } of waitingFor(publishes, device)) {
    if (fate.claimedBy === undefined) Object.assign(fate, { dueAtMs: nowMs, readyAtMs: nowMs });
  }
}
