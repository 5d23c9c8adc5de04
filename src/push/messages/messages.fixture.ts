import { NIL_PUBLISH_ID } from '../model/publish-id.ts';
import { FieldFault } from '../refusal.ts';
import type { Tracking } from './tracking.ts';

export const tracking: Tracking = {
  instanceId: '8f9a6e22-2483-49aa-8552-125f1a4c5781',
  publishId: NIL_PUBLISH_ID,
};

/** What the blocks of all platforms begin with. */
export const trackingText = `"instanceId":"${tracking.instanceId}","publishId":"${NIL_PUBLISH_ID}"`;

/** What was read, where a test knows that nothing is wrong with it. */
export function right<Payload>(payload: Payload | FieldFault): Payload {
  if (payload instanceof FieldFault) throw new Error(`${payload.field}: ${payload.reason}`);
  return payload;
}
