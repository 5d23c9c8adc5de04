import type { DeviceId, Platform } from './device.ts';
import { readPrefixedUuid } from './prefixed-uuid.ts';

/** Reads the id of a device on a platform out of untrusted input. */
export function readDeviceId(text: string, platform: Platform): DeviceId | undefined {
  return readPrefixedUuid(`${platform}-`, text) as DeviceId | undefined;
}

/** Makes the id of a device. It cannot be guessed, and it is the only credential of the device. */
export function newDeviceId(platform: Platform): DeviceId {
  return `${platform}-${crypto.randomUUID()}` as DeviceId;
}
