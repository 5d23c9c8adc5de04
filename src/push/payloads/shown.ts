import { isShown } from '../model/apns-push-types.ts';
import type { Platform } from '../model/device.ts';
import type { ApnsPayload } from './apns.ts';
import type { Payloads } from './payloads.ts';

/** Whether a device shows or plays something for the payload of its platform, before any code of the app runs. */
export function isShownOn({ apns, fcm, web }: Payloads, platform: Platform): boolean {
  switch (platform) {
    case 'apns':
      return apns !== undefined && isAlert(apns);
    case 'fcm':
      return fcm?.isShown === true;
    case 'web':
      return web?.notification !== undefined;
    default:
      return platform satisfies never;
  }
}

function isAlert({ pushType, aps }: ApnsPayload): boolean {
  return pushType === undefined ? isShown(aps) : pushType === 'alert';
}
