import type { Platform } from '../model/device.ts';
import type { Rate } from './bucket.ts';

/**
 * How fast each gateway is used where nobody says otherwise: by one instance and, on the web, for one push service.
 *
 * No gateway is slowed down by these. They are there for what is not one: something that answers at once, such as a
 * refusal of our own, must not take the whole loop for as long as there are devices.
 */
export const defaultRates: Readonly<Record<Platform, Rate>> = {
  // Apple names no limit; it answers 429 for one device. This is more than one process can send.
  apns: { perSecond: 200_000 },
  // Google's quota is of a project, which several instances may use: its gateway keeps to it by itself, for all of them.
  fcm: { perSecond: 200_000 },
  // No push service names a limit for all of a sender's devices. Encrypting is slower than this.
  web: { perSecond: 50_000 },
};
