import type { PushInstance } from '../../../../push/model/instance.ts';
import { readUserId, USER_ID_BYTES_MAX } from '../../../../push/model/user-id.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import { decodeLeniently } from '../../../request-target.ts';
import type { PushAnswer, PushCall, PushEndpoint } from '../../call.ts';
import type { EndpointContext } from '../context.ts';
import { InstanceRates } from '../request-rate.ts';
import { backendEndpoint } from './backend-endpoint.ts';

/** The rate of deletions of one instance. Source: push protocol, §2.4. */
const DELETIONS_PER_SECOND = 100;

/** Libraries that write a space in a path as `+`, and a plus sign as `%2B`. Source: push protocol, §2.4. */
const SPACE_IS_PLUS = /-(?:ruby|php|java)\b/i;

/** `DELETE …/users/ID`: deletes a user with all devices. Succeeds for an unknown user. */
export function deleteUser(context: EndpointContext): PushEndpoint {
  const { devices, taps, guard, now, rateLimitedLog, shareRate } = context;
  const rates = new InstanceRates('user deletions', shareRate);
  return backendEndpoint(context, 'nothing', (instance, call) => {
    const userId = userIdIn(call);
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

function refuseUserId(text: string): PushRefusal | undefined {
  if (text === '') return new PushRefusal('not-found', 'The path has no user id');
  // Recorded text. Source: push protocol, §2.4.
  if (Buffer.byteLength(text) > USER_ID_BYTES_MAX) {
    const why = `'User id' is too long, max length is ${USER_ID_BYTES_MAX}`;
    return new PushRefusal('bad-request', why);
  }
  const read = readUserId(text);
  return read.ok ? undefined : new PushRefusal('bad-request', `'User id' ${read.why}`);
}

/** Reads the user id in the path, with plus signs as the library of the caller writes them. */
function userIdIn(call: PushCall): string {
  const { path, params } = call;
  const isSpaced = path.includes('+') && SPACE_IS_PLUS.test(call.header('x-pusher-library') ?? '');
  if (!isSpaced) return params.rest;
  // From the raw path: an escaped plus sign is a plus sign.
  const start = path.indexOf(USERS) + USERS.length;
  return decodeLeniently(path.slice(start).replaceAll('+', ' '));
}

const USERS = '/users/';
