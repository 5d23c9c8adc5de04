import { DEVICES_PER_OPEN_HOST, type PushInstance } from '../../../../push/model/instance.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import type { EndpointContext } from '../context.ts';

/** Long, because an operator must act. The SDKs ask earlier nevertheless. */
const RETRY_AFTER_SECONDS = 600;

/** When a device may try again that found its push service full. */
const HOST_RETRY_AFTER_SECONDS = 60;

/** Refuses a device at a push service that the operator has not named. */
export const HOST_FULL = new PushRefusal(
  'instance-full',
  `The instance has ${DEVICES_PER_OPEN_HOST} devices at this push service already`,
  HOST_RETRY_AFTER_SECONDS,
);

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
