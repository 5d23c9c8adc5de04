import type { WaitingPublish } from '../../backlog-store.ts';
import type { Platform } from '../../model/device.ts';

/** The publishes of one platform that are left. */
interface Line {
  readonly publishes: readonly WaitingPublish[];
  next: number;
  bytes: number;
}

/**
 * Chooses which publishes give way so that `bytes` become free: each time the oldest one of the platform whose publishes
 * take most of the room, so that the trouble of one platform takes nothing from the others. `waiting`: the oldest first.
 */
export function chooseLeaving(
  waiting: readonly WaitingPublish[],
  bytes: number,
): readonly number[] {
  const lines = new Map<Platform, Line>(
    [...Map.groupBy(waiting, ({ platform }) => platform)].map(([platform, publishes]) => [
      platform,
      { publishes, next: 0, bytes: publishes.reduce((sum, one) => sum + one.bytes, 0) },
    ]),
  );
  const leaving: number[] = [];
  for (let left = bytes; left > 0; ) {
    const line = [...lines.values()].reduce((a, b) => (b.bytes > a.bytes ? b : a), NONE);
    const oldest = line.publishes[line.next];
    if (oldest === undefined) break;
    line.next++;
    line.bytes -= oldest.bytes;
    left -= oldest.bytes;
    leaving.push(oldest.number);
  }
  return leaving;
}

const NONE: Line = { publishes: [], next: 0, bytes: 0 };
