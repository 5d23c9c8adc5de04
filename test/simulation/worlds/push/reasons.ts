import { explain } from '../../../../src/push/explain/explain.ts';
import type { TimelineEvent } from '../../../../src/push/explain/timeline.ts';
import type { DeviceStory } from '../../../../src/push/model/delivery.ts';
import type { DeviceId } from '../../../../src/push/model/device.ts';
import type { PublishStatus } from '../../../../src/push/model/publish.ts';
import type { PublishStore } from '../../../../src/push/publish-store.ts';
import type { StoryStore } from '../../../../src/push/story-store.ts';
import type { Fields } from '../../../../src/verify/history/line.ts';
import type { SimulatedPublishes } from './publishes.ts';

/** What `explain` may say at the end. Everything else means that the device still waits, or was forgotten. */
const REASONS: readonly TimelineEvent['what'][] = [
  'accepted',
  'failed',
  'expired',
  'pruned',
  'removed',
  'cancelled',
  'live-reached',
];

export interface ExplainedOptions {
  readonly publishes: SimulatedPublishes;
  readonly store: Pick<PublishStore, 'status'>;
  readonly stories: Pick<StoryStore, 'story'>;
  readonly nowMs: number;
  /** Whether to look at a device; by default at all. */
  readonly isWanted?: (p: string, device: string) => boolean;
}

/** Returns why each device has got its publishes, or has not, as lines of a history. */
export async function explained({
  publishes,
  store,
  stories,
  nowMs,
  isWanted = () => true,
}: ExplainedOptions): Promise<readonly Fields['explained'][]> {
  const reasons: Fields['explained'][] = [];
  for (const { wanted, publish } of publishes.all.values()) {
    const { instance, id } = publish;
    const { p, devices, certain } = wanted;
    const names = Object.keys(devices).filter((d) => isWanted(p, d));
    if (names.length === 0) continue;
    const status = await store.status({ instance, id, nowMs });
    // Another request for the same has been accepted.
    if (status === undefined) continue;
    for (const d of names) {
      const device = d as DeviceId;
      const story = await stories.story({ instance, publish: id, device });
      const state = story && stateOf(story, status, device, nowMs);
      const isOutside = state === undefined || (state === 'not-in-audience' && !story?.removed);
      // It was in the audience at the time of the publish and ever since, so this is no reason.
      if (isOutside && certain.has(d)) continue;
      reasons.push({ p, d, state: state ?? 'gone' });
    }
  }
  return reasons;
}

function stateOf(
  story: DeviceStory,
  status: PublishStatus,
  deviceId: DeviceId,
  nowMs: number,
): string | undefined {
  const { events } = explain(story, status, { deviceId, nowMs, pauses: [] });
  return events.findLast(({ what }) => REASONS.includes(what) || what === 'not-in-audience')?.what;
}
