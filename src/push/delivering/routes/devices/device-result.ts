import type { DeviceResult } from '../../../model/delivery.ts';
import type { Recipient } from '../../../model/device.ts';
import type { PushTapEvent } from '../../../watching/push-tap.ts';
import type { InFlightJob } from '../../jobs/in-flight-job.ts';
import type { After } from '../after-outcome.ts';

/** Settles a device of a job, and shows its outcome in the live streams of the instance. `attempts` includes the last one. */
export function settleDevice(
  job: InFlightJob,
  recipient: Recipient,
  attempts: number,
  after: After,
): void {
  job.taps.watched?.get(job.instance)?.record(eventOf(job.publish.id, recipient, attempts, after));
  const result = resultOf(recipient, attempts, after);
  const pacedMs = result.what === 'retry' ? job.pacedMs(recipient) : 0;
  job.settle(result.what === 'retry' && pacedMs > 0 ? { ...result, pacedMs } : result);
}

/** Makes the result of a device as it is stored. `attempts` includes the last one. */
function resultOf(recipient: Recipient, attempts: number, after: After): DeviceResult {
  const { number, platform, userId, token, seenAtMs, isTrusted } = recipient;
  switch (after.what) {
    case 'accepted':
      if (after.endsPause) return acceptedAgain(recipient);
      // Two literals, because a spread would cost more than all the rest.
      return isTrusted
        ? { what: 'accepted', device: number, platform, userId }
        : { what: 'accepted', device: number, platform, userId, firstToken: token };
    case 'retry': {
      const { what, dueAtMs, reason, words, pause } = after;
      return { what, device: number, platform, attempts, dueAtMs, reason, words, pause };
    }
    case 'pruned': {
      const { what, reason, words } = after;
      return { what, device: number, platform, token, seenAtMs, attempts, reason, words };
    }
    case 'failed':
    case 'expired': {
      const { what, reason, words, pause } = after;
      return { what, device: number, platform, userId, attempts, reason, words, pause };
    }
    default:
      return after satisfies never;
  }
}

/** The result of a device whose pause is over. */
function acceptedAgain({ number, platform, userId, token, isTrusted }: Recipient): DeviceResult {
  const accepted = { what: 'accepted', device: number, platform, userId, endsPause: true } as const;
  return isTrusted ? accepted : { ...accepted, firstToken: token };
}

function eventOf(
  publish: string,
  { id, platform, userId }: Recipient,
  attempts: number,
  after: After,
): PushTapEvent {
  const device = { publish, device: id, platform, user: userId };
  if (after.what === 'accepted') return { kind: 'accepted', ...device };
  const { words } = after;
  const failure = after.what === 'retry' ? after.failure : undefined;
  return {
    kind: after.what,
    ...device,
    attempts,
    dueAtMs: after.what === 'retry' ? after.dueAtMs : undefined,
    reason: failure ?? after.reason,
    words: failure !== undefined || words === '' ? undefined : words,
  };
}
