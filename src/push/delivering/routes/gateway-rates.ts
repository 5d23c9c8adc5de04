import type { Platform } from '../../model/device.ts';

/**
 * Most sends per second of one instance and, on the web, to one push service.
 *
 * They slow no real gateway down. They bound what answers at once, such as a refusal of our own, so that it does not
 * block the loop.
 */
export const gatewayRates: Readonly<Record<Platform, number>> = {
  // Apple names no limit; it answers 429 for one device. This is more than one process can send.
  apns: 200_000,
  // Google's quota is for a project, which several instances may share: the FCM gateway keeps to it itself.
  fcm: 200_000,
  // No push service names a limit for a sender. Encrypting is slower than this.
  web: 50_000,
};
