import type { Platform } from '../device.ts';
import type { Rate } from './bucket.ts';

/** How fast each gateway is used where nobody says otherwise: by one instance and, on the web, for one push service. */
export const defaultRates: Readonly<Record<Platform, Rate>> = {
  // Apple names no limit; it answers 429 for one device.
  apns: { perSecond: 20_000, rampMs: 0 },
  // 600,000 a minute for one project, reached over a minute at least. Source: push protocol, §8.2.
  fcm: { perSecond: 10_000, rampMs: 60_000 },
  // No push service names a limit for all of a sender's devices.
  web: { perSecond: 10_000, rampMs: 0 },
};
