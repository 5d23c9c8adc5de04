import type { MaybePromise } from '../../../../channels/maybe-promise.ts';
import {
  type VerifiedBeamsToken,
  verifyBeamsToken,
} from '../../../../push/credentials/beams-token.ts';
import type { NewUser, SetUserResult } from '../../../../push/device-store.ts';
import { DEVICES_PER_USER, type PushInstance } from '../../../../push/model/instance.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import type { PushAnswer, PushCall, PushEndpoint, PushHead } from '../../call.ts';
import { bearerOf } from '../bearer.ts';
import type { EndpointContext, PushEndpointSettings } from '../context.ts';
import { DONE, deviceEndpoint, type NamedDevice, NO_DEVICE } from './device-endpoint.ts';

/** SDKs search the description of a refused Beams Token for certain words; see `verifyBeamsToken`. */
const NO_TOKEN = new PushRefusal(
  'unauthorized',
  'The Authorization header is missing: it must be `Bearer` and a Beams Token',
);
const MALFORMED = new PushRefusal(
  'unauthorized',
  'The Authorization header is malformed: it must be `Bearer` and a Beams Token',
);

/** Documented for this call only. Source: push protocol, §3.5. */
const BAD_ID = new PushRefusal('bad-device-request', 'The device id in the path is not valid');

export const OTHER_USER = new PushRefusal(
  'bad-device-request',
  'A User Id is already associated with this device.',
);
export const USER_FULL = new PushRefusal(
  'unprocessable',
  `The user has the maximum of ${DEVICES_PER_USER} devices on this platform already`,
);

/** Reads and verifies the Beams Token of a request. */
export function verifyUser(
  { now, settings }: Pick<EndpointContext, 'now' | 'settings'>,
  instance: PushInstance,
  head: PushHead,
): VerifiedBeamsToken | PushRefusal {
  const authorization = head.header('authorization');
  if (authorization === undefined || authorization === '') return NO_TOKEN;
  const token = bearerOf(authorization);
  if (token === undefined) return MALFORMED;
  const current = settings();
  return verifyBeamsToken(token, instance, {
    nowSeconds: now() / 1000,
    leewaySeconds: current.tokenLeewaySeconds,
    hosts: issuersOf(current),
  });
}

/** The user that a device gets, with the rules of the instance. */
export function newUser({ userId }: VerifiedBeamsToken, instance: PushInstance): NewUser {
  const replaceOldest = instance.whenUserIsFull === 'replace-oldest';
  return { userId, max: DEVICES_PER_USER, replaceOldest };
}

/** `PUT …/devices/PLATFORM/ID/user`: sets the user of a device, by a Beams Token. Source: push protocol, §3.5. */
export function setUser(context: EndpointContext): PushEndpoint {
  const { devices, guard, now, rates } = context;
  const set = ({ instance, key }: NamedDevice, call: PushCall): MaybePromise<PushAnswer> => {
    const verified = verifyUser(context, instance, call);
    if (verified instanceof PushRefusal) return verified;
    const refused = rates.refuse('rows', call, instance);
    if (refused !== undefined) return refused;
    const change = { ...key, ...newUser(verified, instance), nowMs: now() };
    return guard.ask(() => devices.setUser(change), answerOf);
  };
  const endpoint = deviceEndpoint(context, set, BAD_ID);
  return {
    ...endpoint,
    // SDKs send no body. If there is one, it is read only after the token is verified.
    async checkBeforeBody(head) {
      const instance = context.instances.byId(head.params.instance);
      const verified = instance && verifyUser(context, instance, head);
      return verified instanceof PushRefusal ? verified : undefined;
    },
  };
}

/** The public host of this server is always allowed. */
function issuersOf({ tokenIssuers, publicUrl }: PushEndpointSettings): readonly string[] {
  return publicUrl === null ? tokenIssuers : [...tokenIssuers, new URL(publicUrl).host];
}

function answerOf(result: SetUserResult): PushAnswer {
  switch (result) {
    case 'set':
      return DONE;
    case 'no-device':
      return NO_DEVICE;
    case 'other-user':
      return OTHER_USER;
    case 'full':
      return USER_FULL;
    default:
      return result satisfies never;
  }
}
