import { isObject } from '../config/settings/plain-json.ts';
import { payloadFault } from '../push/rules/payload-fault.ts';
import type { Settings } from './merged.ts';
import { OperationRefused } from './operation-refused.ts';

/**
 * Refuses push rules whose payloads no publish may have, whatever the data of the event. Throws `OperationRefused`,
 * which names the field.
 */
export function refuseUnusablePayloads({ pushRules }: Settings): void {
  if (!Array.isArray(pushRules)) return;
  for (const [index, rule] of pushRules.entries()) {
    if (!isObject(rule)) continue;
    const { apns, fcm, web, instance } = rule;
    const fault = payloadFault({ apns, fcm, web }, String(instance));
    if (fault === undefined) continue;
    const field = `pushRules[${index}].${fault.field}`;
    throw new OperationRefused('invalid', `${field}: ${fault.reason}`, field);
  }
}
