import { NIL_PUBLISH_ID } from '../model/publish-id.ts';
import { FieldFault } from '../refusal.ts';
import type { Tracking } from './tracking.ts';

export const tracking: Tracking = {
  instanceId: '8f9a6e22-2483-49aa-8552-125f1a4c5781',
  publishId: NIL_PUBLISH_ID,
};

/** The start of the server's block on all platforms. */
export const trackingText = `"instanceId":"${tracking.instanceId}","publishId":"${NIL_PUBLISH_ID}"`;

/** A payload that must be valid. */
export function right<Payload>(payload: Payload | FieldFault): Payload {
  if (payload instanceof FieldFault) throw new Error(`${payload.field}: ${payload.reason}`);
  return payload;
}
