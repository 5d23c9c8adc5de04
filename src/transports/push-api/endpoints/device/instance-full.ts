import type { PushInstance } from '../../../../push/model/instance.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import type { EndpointContext } from '../context.ts';

/** Long, because an operator must act. The SDKs ask earlier nevertheless. */
const RETRY_AFTER_SECONDS = 600;

/** Refuses what exceeds a limit of the instance, and logs it. */
export function refuseFull(
  { log, logThrottle }: EndpointContext,
  { id, limits }: PushInstance,
  what: 'devices' | 'interests',
): PushRefusal {
  const limit = limits[what];
  logThrottle.run(`${what} of ${id}`, (throttled) =>
    log.warn('Instance is full', {
      instance: id,
      setting: `limits.${what}`,
      limit,
      ...throttled,
    }),
  );
  return new PushRefusal(
    'instance-full',
    `The instance has reached its limit of ${what}: ${limit}`,
    RETRY_AFTER_SECONDS,
  );
}
