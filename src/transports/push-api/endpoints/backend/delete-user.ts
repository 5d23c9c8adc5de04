import type { PushInstance } from '../../../../push/model/instance.ts';
import { readUserId, USER_ID_BYTES_MAX } from '../../../../push/model/user-id.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import { RateLimiter } from '../../../../runtime/rate-limiter.ts';
import { decodeLeniently } from '../../../request-target.ts';
import type { Endpoint, PushAnswer, PushHead } from '../../call.ts';
import type { EndpointContext } from '../context.ts';
import { refuseOverRate } from '../request-rate.ts';
import { backendEndpoint } from './backend-endpoint.ts';

/** Of one instance. Source: push protocol, §2.4. */
const DELETIONS_PER_SECOND = 100;

/** Their libraries write a space in a path as `+`. Source: push protocol, §2.4. */
const SPACE_IS_PLUS = /-(?:ruby|php|java)\b/i;

/** `DELETE …/users/ID`: removes a user with all devices. A user that nobody knows is removed already. */
export function deleteUser(context: EndpointContext): Endpoint {
  const { devices, guard, now, strangerLog } = context;
  const rates = new RateLimiter<number>();
  return backendEndpoint(context, 'nothing', (instance, call) => {
    const userId = call.params.rest;
    const refused =
      refuseUserId(userId) ?? refuseOverRate(rates, instance.number, DELETIONS_PER_SECOND, now());
    if (refused !== undefined) return refused;
    const spaced = withSpaces(call);
    return guard.ask(
      () => devices.deleteUser(instance.number, userId),
      (removed) =>
        // The user as it is written comes first, so that a plus sign that is meant is not taken for a space.
        removed > 0 || spaced === undefined
          ? deleted(instance, removed)
          : guard.ask(
              () => devices.deleteUser(instance.number, spaced),
              (removedThen) => deleted(instance, removedThen),
            ),
    );
  });

  function deleted({ id }: PushInstance, removed: number): PushAnswer {
    if (removed > 0) strangerLog.info('User deleted', { instance: id }, { devices: removed });
    return { empty: true };
  }
}

function refuseUserId(text: string): PushRefusal | undefined {
  if (text === '') return new PushRefusal('not-found', 'The path has no user id');
  // The words are recorded ones. Source: push protocol, §2.4.
  if (Buffer.byteLength(text) > USER_ID_BYTES_MAX) {
    const why = `'User id' is too long, max length is ${USER_ID_BYTES_MAX}`;
    return new PushRefusal('bad-request', why);
  }
  const read = readUserId(text);
  return read.ok ? undefined : new PushRefusal('bad-request', `'User id' ${read.why}`);
}

/** The user that the path names where a plus sign is a space; `undefined` where the library means none. */
function withSpaces(head: PushHead): string | undefined {
  if (!head.path.includes('+') || !SPACE_IS_PLUS.test(head.header('x-pusher-library') ?? '')) {
    return undefined;
  }
  // Read from the path as it was sent: an escaped plus sign is one.
  const start = head.path.indexOf(USERS) + USERS.length;
  return decodeLeniently(head.path.slice(start).replaceAll('+', ' '));
}

const USERS = '/users/';
