import type { DeviceId, Platform } from '../model/device.ts';

/** The kinds of entries in a timeline, each with its meaning. `docs/use/push-troubleshooting.md` has this table. */
export const timelineWhats = {
  registered: 'the device registered',
  published: 'this server accepted the publish',
  scheduled: 'when the publish is, or was, due',
  'not-in-audience': 'the publish is not for this device, and why',
  waiting: 'the device has not been sent to yet, and what it waits for',
  'live-reached': 'the user got it in the app',
  'live-silent': 'connections of the user were asked in the app, and none answered',
  'live-absent': 'the user had no connection in the app',
  'live-skipped': 'nobody was asked in the app, and why',
  'gateway-paused': 'its gateway is paused, since when and why',
  'device-paused': 'nothing is sent to this device, since when, until when and why',
  accepted: 'the gateway accepted the notification',
  retry: 'it failed so far and is retried: why, and when',
  failed: 'it was given up, and why',
  'not-sent': 'a rule of the instance left it out, and why',
  expired: 'its time to live or the time for retries ran out, or it gave way, and what delayed it',
  pruned: 'its token is no longer valid, and why; the device was removed',
  removed: 'the device was removed during another publish, and why',
  cancelled: 'the publish was cancelled before it was sent to this device',
  delivered: 'the device reported that it arrived',
  opened: 'the device reported that it was opened',
} as const;

export type TimelineWhat = keyof typeof timelineWhats;

/** One line of a timeline. */
export interface TimelineEvent {
  /** `undefined`: the time is unknown, or this is the present state. */
  readonly atMs: number | undefined;
  readonly what: TimelineWhat;
  /** Whole sentences, for people. */
  readonly detail: string;
  /** What to do about it. `undefined`: nothing can or need be done. */
  readonly advice: string | undefined;
}

/** What is known about why a device did or did not get a publish. */
export interface Explanation {
  readonly deviceId: DeviceId;
  readonly platform: Platform;
  /** The oldest first. Those without a time come last. */
  readonly events: readonly TimelineEvent[];
}

/** Entries that lead to the result, or are about other publishes. */
const aside: readonly TimelineWhat[] = [
  'registered',
  'published',
  'scheduled',
  'gateway-paused',
  'device-paused',
  'removed',
  'live-silent',
  'live-absent',
  'live-skipped',
];

/** The result at the device so far: the last entry that states one. */
export function outcomeOf({ events }: Explanation): TimelineEvent | undefined {
  return events.findLast(({ what }) => !aside.includes(what));
}

/** An explanation as JSON. Times are RFC 3339 in UTC. */
export function explanationJson({ deviceId, platform, events }: Explanation): object {
  return {
    deviceId,
    platform,
    events: events.map(({ atMs, what, detail, advice }) => ({
      at: atMs === undefined ? null : timeText(atMs),
      what,
      detail,
      advice: advice ?? null,
    })),
  };
}

export function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
