import type { DeviceId, Platform } from '../../../../push/model/device.ts';
import type { PushInstance } from '../../../../push/model/instance.ts';
import type { Preferences } from '../../../../push/model/preferences.ts';
import { FieldFault, PushRefusal, refuseField } from '../../../../push/refusal.ts';
import { readPreferences as readChanges } from '../../../../push/requests/preferences.ts';
import { readOwnToken } from '../../../../push/requests/registration.ts';
import type { JsonObject } from '../../../../runtime/json-object.ts';
import type { PushAnswer, PushEndpoint } from '../../call.ts';
import type { EndpointContext } from '../context.ts';
import {
  deviceEndpoint,
  deviceIdOf,
  doneIf,
  instanceEndpoint,
  NO_DEVICE,
  readDeviceBody,
} from './device-endpoint.ts';

/** In place of a device id: the body has the token of the device. SDKs of phones tell the app no id. */
const BY_TOKEN = 'by-token';

/** `GET …/devices/PLATFORM/ID/preferences`. */
export function readPreferences(context: EndpointContext): PushEndpoint {
  const { preferences, guard } = context;
  return deviceEndpoint(context, ({ key }) =>
    guard.ask(
      () => preferences.ofDevice(key),
      (found) => (found === undefined ? NO_DEVICE : shownPreferences(found)),
    ),
  );
}

/** `PUT …/devices/PLATFORM/ID/preferences`, and the same with `by-token` as the id. */
export function setPreferences(context: EndpointContext): PushEndpoint {
  const { preferences, guard, rates } = context;
  return instanceEndpoint(context, (instance, call) => {
    const { platform, device } = call.params;
    const id = deviceIdOf(call);
    if (platform === undefined || (id === undefined && device !== BY_TOKEN)) return NO_DEVICE;
    const body = readDeviceBody(call);
    if (body instanceof PushRefusal) return body;
    const changes = readChanges(body);
    if (changes instanceof FieldFault) return refuseField('bad-device-request', changes);
    const find = finderOf(context, { instance, id, platform, body });
    if (find instanceof PushRefusal) return find;
    const refused = rates.refuse('rows', call, instance);
    if (refused !== undefined) return refused;
    const set = async () => {
      const found = await find();
      const key = found && { instance: instance.number, id: found };
      return key !== undefined && (await preferences.setOfDevice({ ...key, changes }));
    };
    return guard.ask(set, doneIf);
  });
}

interface Named {
  readonly instance: PushInstance;
  /** `undefined`: the device is named by its token. */
  readonly id: DeviceId | undefined;
  readonly platform: Platform;
  readonly body: JsonObject;
}

/** Finds the id of the device that a request names. */
function finderOf(
  { preferences }: EndpointContext,
  { instance, id, platform, body }: Named,
): (() => Promise<DeviceId | undefined>) | PushRefusal {
  if (id !== undefined) return async () => id;
  const token = readOwnToken(platform, body, instance);
  if (token instanceof PushRefusal) return token;
  const { identity } = token;
  return () => preferences.deviceWithToken({ instance: instance.number, identity });
}

/** What is not known is `null`. */
export function shownPreferences({ language, timeZone, quietHours }: Preferences): PushAnswer {
  const shown = { language, timeZone, quietHours };
  return { json: JSON.stringify(shown, (_, value) => value ?? null) };
}
