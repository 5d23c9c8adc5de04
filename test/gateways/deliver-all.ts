import type { Deliver, Outcome } from '../../src/push/gateway.ts';
import type { Recipient } from '../../src/push/model/device.ts';

/** Delivers to all recipients at once; gives the outcomes in order. */
export async function deliverAll(
  deliver: Deliver,
  recipients: readonly Recipient[],
): Promise<readonly Outcome[]> {
  return Promise.all(recipients.map((recipient) => deliver(recipient)));
}
