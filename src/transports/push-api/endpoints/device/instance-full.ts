import type { PushInstance } from '../../../../push/model/instance.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import type { EndpointContext } from '../context.ts';

/** An operator must act, so that asking again soon is of no use. SDKs of devices ask earlier all the same. */
const RETRY_AFTER_SECONDS = 600;

/** Refuses what goes beyond a limit of an instance, and lets the operator know. */
export function refuseFull(
  { log, refusals }: EndpointContext,
  { id, limits }: PushInstance,
  what: 'devices' | 'interests',
): PushRefusal {
  const limit = limits[what];
  refusals.run(`${what} of ${id}`, (throttled) =>
    log.warn('An instance is full', {
      instance: id,
      setting: `limits.${what}`,
      limit,
      ...throttled,
    }),
  );
  return new PushRefusal(
    'instance-full',
    `The instance has as many ${what} as it may: ${limit}`,
    RETRY_AFTER_SECONDS,
  );
}
