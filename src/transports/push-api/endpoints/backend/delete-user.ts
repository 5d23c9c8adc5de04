import type { PushInstance } from '../../../../push/model/instance.ts';
import type { PushAnswer, PushEndpoint } from '../../call.ts';
import type { EndpointContext } from '../context.ts';
import { InstanceRates } from '../request-rate.ts';
import { backendEndpoint } from './backend-endpoint.ts';
import { refuseUserId, userIdIn } from './user-in-path.ts';

/** The rate of deletions of one instance. Source: push protocol, §2.4. */
const DELETIONS_PER_SECOND = 100;

/** `DELETE …/users/ID`: deletes a user with all devices. Succeeds for an unknown user. */
export function deleteUser(context: EndpointContext): PushEndpoint {
  const { devices, taps, guard, now, rateLimitedLog, shareRate } = context;
  const rates = new InstanceRates('user deletions', shareRate);
  return backendEndpoint(context, 'nothing', (instance, call) => {
    const userId = userIdIn(call, '/users/');
    const refused =
      refuseUserId(userId) ??
      rates.refuse({
        instance: instance.number,
        limit: DELETIONS_PER_SECOND,
        nowMs: now(),
      });
    if (refused !== undefined) return refused;
    return guard.ask(
      () => devices.deleteUser(instance.number, userId),
      (removed) => deleted(instance, userId, removed),
    );
  });

  function deleted({ id, number }: PushInstance, user: string, devices: number): PushAnswer {
    if (devices > 0) {
      rateLimitedLog.info('User deleted', { instance: id }, { devices });
      taps.watched?.get(number)?.record({ kind: 'removed', user, devices });
    }
    return { empty: true };
  }
}
