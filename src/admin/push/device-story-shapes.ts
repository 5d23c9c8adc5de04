import { z } from 'zod';
import { adviceOn } from '../../push/explain/advice.ts';
import { type TimelineEvent, timelineWhats } from '../../push/explain/timeline.ts';
import { capEndsAtMs } from '../../push/model/cap.ts';
import type { RegisteredDevice } from '../../stores/push/devices/device-details.ts';
import type { UnreachedDevice } from '../../stores/push/publishes/unreached-devices.ts';
import type { Rights } from '../rights.ts';
import type { FoundDevice, LastPublish, UsedCap } from './device-admin.ts';
import { devicePlatform, type ShownDevice, showDevice, shownDevice } from './device-shapes.ts';
import { publishState } from './publish-shapes.ts';

const whats = Object.keys(timelineWhats) as [keyof typeof timelineWhats];

const why = z.string().describe('The cause in plain English.');
const advice = z.string().nullable().describe('What to do about it; null: nothing.');

/** An entry of a timeline. */
export const shownEvent = z
  .strictObject({
    at: z.string().nullable().describe('null: the present state, or the time is not known.'),
    what: z.enum(whats),
    detail: z.string().describe('Whole sentences.'),
    advice,
  })
  .meta({ id: 'TimelineEntry' });

export function showEvent({ atMs, what, detail, advice }: TimelineEvent) {
  return { at: atMs === undefined ? null : timeOf(atMs), what, detail, advice: advice ?? null };
}

/** A publish, and its result at one device. */
export const shownLastPublish = z
  .strictObject({
    publish: z.string(),
    device: z.string(),
    createdAt: z.string(),
    state: publishState.describe('The state of the publish as a whole.'),
    outcome: shownEvent,
  })
  .meta({ id: 'DevicePublish' });

export function showLastPublish({ publish, device, createdAtMs, state, outcome }: LastPublish) {
  const createdAt = timeOf(createdAtMs);
  return { publish, device, createdAt, state, outcome: showEvent(outcome) };
}

export const shownDetails = z
  .strictObject({
    id: z.string(),
    platform: devicePlatform,
    registeredAt: z.string(),
    registered: shownDevice
      .extend({
        bundleId: z.string().nullable().describe('The app, on Apple’s platforms.'),
        parent: z
          .string()
          .nullable()
          .describe('The device with which it is deleted; null: none, or it is not registered.'),
        token: z
          .strictObject({ begins: z.string(), length: z.int().min(0) })
          .describe('Its first 8 characters, and how many it has. Of browsers only the length.'),
        pushService: z.string().nullable().describe('The push service of a browser.'),
        interests: z.array(z.string()).describe('The first 1,000.'),
        moreInterests: z.boolean(),
        cap: z
          .strictObject({
            used: z.int().min(0).describe('How many notifications it was shown.'),
            notifications: z.int().min(1),
            hours: z.int().min(1),
            endsAt: z
              .string()
              .nullable()
              .describe('When the count begins anew; null: it begins with the next notification.'),
          })
          .nullable()
          .describe('What it has had of the cap of the instance; null: the instance has none.'),
      })
      .meta({ id: 'RegisteredDevice' })
      .nullable()
      .describe('null: it is not registered any more.'),
    removed: z
      .strictObject({ at: z.string(), reason: z.string(), why, advice })
      .nullable()
      .describe('Why the server removed it. Kept for 30 days.'),
  })
  .meta({ id: 'DeviceDetails' });

interface MoreDetails {
  readonly interests: readonly string[];
  readonly more: boolean;
  readonly cap: UsedCap | undefined;
}

export function showDetails(
  found: FoundDevice,
  { interests, more, cap }: MoreDetails,
  rights: Rights,
) {
  const { id, platform, registeredAtMs, registered, removed } = found;
  return {
    id,
    platform,
    registeredAt: timeOf(registeredAtMs),
    registered: registered && {
      ...showRegistered(registered, rights),
      interests,
      moreInterests: more,
      cap: cap === undefined ? null : showCap(cap),
    },
    removed: removed && { at: timeOf(removed.atMs), ...causeOf({ ...removed, platform }) },
  };
}

function showCap({ cap, use }: UsedCap) {
  const endsAt = use === undefined ? null : timeOf(capEndsAtMs(cap, use.sinceMs));
  return { used: use?.used ?? 0, ...cap, endsAt };
}

function showRegistered(device: RegisteredDevice, rights: Rights) {
  const { bundleId = null, parent = null, pushService = null, token } = device;
  const { begins, length } = token;
  const shown: ShownDevice = showDevice(device, rights);
  return { ...shown, bundleId, parent, pushService, token: { begins, length } };
}

export const unreachedState = z.enum(['retrying', 'failed', 'expired', 'pruned', 'cancelled']);

export const shownUnreached = z
  .strictObject({
    id: z
      .string()
      .nullable()
      .describe('null: its app deleted it, or it was removed more than 30 days ago.'),
    platform: devicePlatform.nullable().describe('null: not known, as the device was deleted.'),
    userId: z.string().nullable(),
    state: unreachedState,
    attempts: z.int().min(0),
    changedAt: z.string(),
    nextAttemptAt: z.string().nullable().describe('null: there is none.'),
    reason: z.string(),
    why,
    advice,
  })
  .meta({ id: 'UnreachedDevice' });

export function showUnreached(device: UnreachedDevice) {
  const { id = null, userId = null, platform, state, attempts } = device;
  const next = device.nextAttemptAtMs;
  return {
    id,
    platform: platform ?? null,
    userId,
    state,
    attempts,
    changedAt: timeOf(device.changedAtMs),
    nextAttemptAt: next === undefined ? null : timeOf(next),
    ...causeOf({
      reason: device.reason,
      words: device.words,
      // Why a device was deleted before delivery is the same on every platform.
      platform: platform ?? 'fcm',
      ...(state === 'pruned' ? { device: 'removed' } : {}),
    }),
  };
}

function causeOf({ reason, words, platform, device }: Parameters<typeof adviceOn>[0]): {
  reason: string;
  why: string;
  advice: string | null;
} {
  const { why, advice } = adviceOn({
    platform,
    reason,
    words: words.slice(0, 500),
    ...(device === undefined ? {} : { device }),
  });
  return { reason, why, advice: advice ?? null };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
