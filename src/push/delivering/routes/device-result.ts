import type { DeviceResult } from '../../model/delivery.ts';
import type { Recipient } from '../../model/device.ts';
import type { After } from './after-outcome.ts';

/** Makes the result of a device as it is stored. `attempts` includes the last one. */
export function resultOf(
  { number, platform, userId, token, isTrusted }: Recipient,
  attempts: number,
  after: After,
): DeviceResult {
  switch (after.what) {
    case 'accepted':
      // Two literals, because a spread would cost more than all the rest.
      return isTrusted
        ? { what: 'accepted', device: number, platform, userId }
        : { what: 'accepted', device: number, platform, userId, firstToken: token };
    case 'retry': {
      const { dueAtMs, reason, words } = after;
      return { what: 'retry', device: number, platform, attempts, dueAtMs, reason, words };
    }
    case 'pruned': {
      const { what, reason, words } = after;
      return { what, device: number, platform, token, attempts, reason, words };
    }
    case 'failed':
    case 'expired': {
      const { what, reason, words } = after;
      return { what, device: number, platform, userId, attempts, reason, words };
    }
    default:
      return after satisfies never;
  }
}
