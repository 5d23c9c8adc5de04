import type { Deliver, Notification, Outcome } from '../../src/push/gateway.ts';
import type { DeviceId, Platform, Recipient } from '../../src/push/model/device.ts';
import { newPublishId } from '../../src/push/model/publish-id.ts';

/** A device that its gateway has accepted before. */
export function recipientOf(platform: Platform, number: number, token: string): Recipient {
  return {
    number,
    id: `${platform}-${number}` as DeviceId,
    platform,
    token,
    bundleId: undefined,
    userId: undefined,
    seenAtMs: 0,
    isTrusted: true,
  };
}

/** A publish that was accepted just now. */
export function notificationOf<Payload>(payload: Payload): Notification<Payload> {
  return {
    instanceId: '8f9a6e22-2483-49aa-8552-125f1a4c5781',
    publishId: newPublishId(Date.now()),
    payload,
    acceptedAtMs: Date.now(),
  };
}

/** Delivers to all recipients at once. Returns the outcomes in order. */
export async function deliverAll(
  deliver: Deliver,
  recipients: readonly Recipient[],
): Promise<readonly Outcome[]> {
  return Promise.all(recipients.map((recipient) => deliver(recipient)));
}
