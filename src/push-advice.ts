import type { Platform } from './push/device.ts';
import { adviceOn } from './push/explain/advice.ts';

/** What a reason means for whoever waits for a notification, and what to do about it. */
export function adviceOnReason(
  platform: Platform,
  reason: string,
  /** The gateway's own, or empty. */
  words = '',
): { readonly why: string; readonly advice: string | undefined } {
  return adviceOn({ platform, reason, words });
}
