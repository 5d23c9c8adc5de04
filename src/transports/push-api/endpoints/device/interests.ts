import type { InterestRefusal } from '../../../../push/device-store.ts';
import { INTERESTS_PER_DEVICE, type PushInstance } from '../../../../push/model/instance.ts';
import { isInterest } from '../../../../push/model/interest.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import {
  ENTRIES_MAX,
  INTEREST_RULE,
  readInterestSet,
  TOO_MANY,
} from '../../../../push/requests/interest-set.ts';
import { hasMoreValues } from '../../../../runtime/json-object.ts';
import type { PushEndpoint } from '../../call.ts';
import type { EndpointContext } from '../context.ts';
import {
  checkDeviceBeforeBody,
  DONE,
  deviceEndpoint,
  doneIf,
  NO_DEVICE,
  readDeviceBody,
} from './device-endpoint.ts';
import { refuseFull } from './instance-full.ts';
import { cursorAfter, readInterestPage } from './interest-page.ts';

/** JSON values in the body of a set: its entries, and some in fields that are ignored. */
const VALUES_MAX = ENTRIES_MAX + 100;

const BAD_NAME = new PushRefusal('bad-interest', `The name of an interest ${INTEREST_RULE}`);

/** `GET …/devices/PLATFORM/ID/interests`: a page of them, in the order of their names. */
export function readInterests(context: EndpointContext): PushEndpoint {
  const { devices, guard } = context;
  return deviceEndpoint(context, ({ key }, { query }) => {
    const page = readInterestPage(query);
    if (page instanceof PushRefusal) return page;
    return guard.ask(
      () => devices.interests({ ...key, ...page }),
      (found) => {
        if (found === undefined) return NO_DEVICE;
        const { interests, more } = found;
        const last = interests.at(-1);
        const responseMetadata =
          more && last !== undefined ? { nextCursor: cursorAfter(last) } : {};
        return { json: JSON.stringify({ interests, responseMetadata }) };
      },
    );
  });
}

/** `PUT …/devices/PLATFORM/ID/interests`: replaces the set. Writes nothing if nothing changes. */
export function setInterests(context: EndpointContext): PushEndpoint {
  const { devices, guard, rates } = context;
  const endpoint = deviceEndpoint(context, ({ instance, key }, call) => {
    // Anybody may send a large body, so one that would take long to parse is refused first.
    if (hasMoreValues(call.body, VALUES_MAX)) return TOO_MANY;
    const body = readDeviceBody(call);
    if (body instanceof PushRefusal) return body;
    const interests = readInterestSet(body);
    if (interests instanceof PushRefusal) return interests;
    const { interests: instanceMax } = instance.limits;
    return guard.ask(
      () => devices.interestsToChange({ ...key, interests }),
      (changes) => {
        if (changes === undefined) return NO_DEVICE;
        if (changes === 0) return DONE;
        const refused = rates.refuse('rows', call, instance, changes);
        if (refused !== undefined) return refused;
        return guard.ask(
          () => devices.setInterests({ ...key, interests, instanceMax }),
          (result) => (result === 'set' ? DONE : refuse(context, instance, result)),
        );
      },
    );
  });
  return { ...endpoint, checkBeforeBody: checkDeviceBeforeBody(context) };
}

function refuse(
  context: EndpointContext,
  instance: PushInstance,
  why: InterestRefusal,
): PushRefusal {
  return why === 'no-device' ? NO_DEVICE : refuseFull(context, instance, 'interests');
}

/** `POST …/devices/PLATFORM/ID/interests/NAME`. */
export function addInterest(context: EndpointContext): PushEndpoint {
  const { devices, guard, rates } = context;
  return deviceEndpoint(context, ({ instance, key }, call) => {
    const { name } = call.params;
    if (!isInterest(name)) return BAD_NAME;
    const one = { ...key, interest: name };
    const add = () =>
      rates.refuse('rows', call, instance) ??
      guard.ask(
        () =>
          devices.addInterest({
            ...one,
            max: INTERESTS_PER_DEVICE,
            instanceMax: instance.limits.interests,
          }),
        (result) => {
          if (result === 'added') return DONE;
          return result === 'full' ? TOO_MANY : refuse(context, instance, result);
        },
      );
    return guard.ask(
      () => devices.hasInterest(one),
      (isThere) => {
        if (isThere === undefined) return NO_DEVICE;
        return isThere ? DONE : add();
      },
    );
  });
}

/** `DELETE …/devices/PLATFORM/ID/interests/NAME`. Succeeds even if the device has no such interest. */
export function removeInterest(context: EndpointContext): PushEndpoint {
  const { devices, guard, rates } = context;
  return deviceEndpoint(context, ({ instance, key }, call) => {
    const { name } = call.params;
    if (!isInterest(name)) return BAD_NAME;
    const one = { ...key, interest: name };
    const remove = () =>
      rates.refuse('rows', call, instance) ?? guard.ask(() => devices.removeInterest(one), doneIf);
    return guard.ask(
      () => devices.hasInterest(one),
      (isThere) => {
        if (isThere === undefined) return NO_DEVICE;
        return isThere ? remove() : DONE;
      },
    );
  });
}
