import { INTERESTS_PER_DEVICE } from '../../../push/instance.ts';
import { INTEREST_LENGTH_MAX, isInterest } from '../../../push/interest.ts';
import type { JsonObject } from '../../../push/json-object.ts';
import { Refusal } from '../../../push/refusal.ts';
import type { Endpoint } from '../call.ts';
import type { EndpointContext } from './context.ts';
import { DONE, deviceEndpoint, doneIf, NO_DEVICE, readDeviceBody } from './device-endpoint.ts';
import { cursorAfter, readInterestPage } from './interest-page.ts';

const RULE = `must be 1 to ${INTEREST_LENGTH_MAX} of the letters A to Z and a to z, digits, and _ - = @ , . ;`;

const BAD_NAME = new Refusal('bad-interest', `The name of an interest ${RULE}`);

const TOO_MANY = new Refusal(
  'too-many-interests',
  `A device can have ${INTERESTS_PER_DEVICE} interests at most`,
);

/** `GET …/devices/PLATFORM/ID/interests`: a page of them, in the order of their names. */
export function readInterests(context: EndpointContext): Endpoint {
  const { devices, guard } = context;
  return deviceEndpoint(context, ({ instance, id }, { query }) => {
    const page = readInterestPage(query);
    if (page instanceof Refusal) return page;
    return guard.ask(
      () => devices.interests(instance.number, id, page.after, page.most),
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

/** `PUT …/devices/PLATFORM/ID/interests`: these and no others. */
export function setInterests(context: EndpointContext): Endpoint {
  const { devices, guard } = context;
  return deviceEndpoint(context, ({ instance, id }, call) => {
    const body = readDeviceBody(call);
    if (body instanceof Refusal) return body;
    const interests = readInterestSet(body);
    if (interests instanceof Refusal) return interests;
    return guard.ask(() => devices.setInterests(instance.number, id, interests), doneIf);
  });
}

function readInterestSet({ interests }: JsonObject): readonly string[] | Refusal {
  if (!Array.isArray(interests)) {
    return new Refusal('bad-device-request', '`interests`: must be an array of strings');
  }
  const names = new Set<string>();
  for (const [index, name] of interests.entries()) {
    const field = `\`interests.${index}\``;
    if (typeof name !== 'string') {
      return new Refusal('bad-device-request', `${field}: must be a string`);
    }
    if (!isInterest(name)) return new Refusal('bad-interest', `${field}: ${RULE}`);
    names.add(name);
  }
  return names.size > INTERESTS_PER_DEVICE ? TOO_MANY : [...names];
}

/** `POST …/devices/PLATFORM/ID/interests/NAME`. */
export function addInterest(context: EndpointContext): Endpoint {
  const { devices, guard } = context;
  return deviceEndpoint(context, ({ instance, id }, { params }) => {
    if (!isInterest(params.name)) return BAD_NAME;
    return guard.ask(
      () => devices.addInterest(instance.number, id, params.name, INTERESTS_PER_DEVICE),
      (result) => {
        switch (result) {
          case 'added':
            return DONE;
          case 'full':
            return TOO_MANY;
          case 'no-device':
            return NO_DEVICE;
          default:
            return result satisfies never;
        }
      },
    );
  });
}

/** `DELETE …/devices/PLATFORM/ID/interests/NAME`. Succeeds as well where the device has no such interest. */
export function removeInterest(context: EndpointContext): Endpoint {
  const { devices, guard } = context;
  return deviceEndpoint(context, ({ instance, id }, { params }) =>
    isInterest(params.name)
      ? guard.ask(() => devices.removeInterest(instance.number, id, params.name), doneIf)
      : BAD_NAME,
  );
}
