import type { PushRule } from '../channels/app.ts';
import { isJsonObject } from '../runtime/json-object.ts';
import { OperationRefused } from '../tenants/operation-refused.ts';
import { type Rights, seesInstance } from './rights.ts';

/**
 * Refuses push rules that send notifications of instances that the caller may not see. Existing rules may stay.
 * `given` is not validated yet. Throws `OperationRefused`.
 */
export function refuseForeignInstances(
  given: unknown,
  { present, rights }: { readonly present: readonly PushRule[]; readonly rights: Rights },
): void {
  if (!Array.isArray(given)) return;
  const known = new Set(present.map(({ instance }) => instance));
  for (const [index, rule] of given.entries()) {
    const named = isJsonObject(rule) ? rule['instance'] : undefined;
    if (typeof named !== 'string') continue;
    const instance = named.toLowerCase();
    if (known.has(instance) || seesInstance(rights, instance)) continue;
    throw new OperationRefused(
      'forbidden',
      'the rule sends notifications of that instance, so it takes an admin of the instance',
      `pushRules.${index}.instance`,
    );
  }
}
