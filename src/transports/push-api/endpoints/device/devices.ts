import type { NewRegistration, RegisterRefusal } from '../../../../push/device-store.ts';
import type { Device } from '../../../../push/model/device.ts';
import { newDeviceId } from '../../../../push/model/device-id.ts';
import type { PushInstance } from '../../../../push/model/instance.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import { readInterestSet } from '../../../../push/requests/interest-set.ts';
import { readMetadata } from '../../../../push/requests/metadata.ts';
import { readAcceptLanguage } from '../../../../push/requests/preferences.ts';
import { readNewToken, readRegistration } from '../../../../push/requests/registration.ts';
import { isGiven, type JsonObject } from '../../../../runtime/json-object.ts';
import type { PushCall, PushEndpoint, PushHead } from '../../call.ts';
import { secretKeyOf } from '../backend/backend-endpoint.ts';
import { bearerOf } from '../bearer.ts';
import type { EndpointContext } from '../context.ts';
import {
  DONE,
  deviceEndpoint,
  deviceIdOf,
  doneIf,
  instanceEndpoint,
  NO_DEVICE,
  readDeviceBody,
} from './device-endpoint.ts';
import { HOST_FULL, refuseFull } from './instance-full.ts';
import { PAGE_LENGTH_MAX } from './interest-page.ts';
import { newUser, OTHER_USER, USER_FULL, verifyUser } from './set-user.ts';

/** The rows that a registration changes: the device, a device that it replaces, and the counts. */
const REGISTRATION_ROWS = 3;

/** A long row counts as several. */
function sizeInRows({ body }: PushCall): number {
  return Math.ceil(body.length / 1024);
}

/** `GET …/web-vapid-public-key`: the key that browsers subscribe with. */
export function readVapidKey(context: EndpointContext): PushEndpoint {
  return instanceEndpoint(context, ({ web }) =>
    web === undefined
      ? new PushRefusal('not-found', 'The instance has no web push configured')
      : { json: JSON.stringify({ vapidPublicKey: web.vapidPublicKey }) },
  );
}

/**
 * `POST …/devices/PLATFORM`: registers a device, with its interests and user if the request names them. A token that the
 * instance knows stays the same device.
 */
export function registerDevice(context: EndpointContext): PushEndpoint {
  const { devices, taps, guard, now, rates } = context;
  return instanceEndpoint(context, (instance, call) => {
    const { platform } = call.params;
    if (platform === undefined) return new PushRefusal('not-found', 'There is no such platform');
    const body = readDeviceBody(call);
    if (body instanceof PushRefusal) return body;
    const registration = readRegistration(platform, body, {
      instance,
      client: clientOf(call),
    });
    if (registration instanceof PushRefusal) return registration;
    const more = readMore(context, instance, { body, call });
    if (more instanceof PushRefusal) return more;
    const rows = REGISTRATION_ROWS + sizeInRows(call) + (more.interests?.names.length ?? 0);
    const refused = rates.refuse('rows', call, instance, rows);
    if (refused !== undefined) return refused;
    const { devices: devicesMax } = instance.limits;
    return guard.ask(
      () =>
        devices.register({
          instance: instance.number,
          device: { id: newDeviceId(platform), acceptLanguage: languageOf(call), ...registration },
          nowMs: now(),
          devicesMax,
          ...more,
        }),
      (result) => {
        if (typeof result === 'string') return refuseRegistration(context, instance, result);
        const { id, interests, isNew } = result;
        if (isNew) {
          taps.watched?.get(instance.number)?.record({ kind: 'registered', device: id, platform });
        }
        // The web SDK does not know the set. The Android SDK fails without it, and that of iOS takes it for all interests.
        if (platform === 'web') return { json: JSON.stringify({ id }) };
        // As much as reading them page by page.
        rates.charge('requests', call, interests.length / PAGE_LENGTH_MAX);
        return { json: JSON.stringify({ id, initialInterestSet: interests }) };
      },
    );
  });
}

function languageOf(head: PushHead): string | undefined {
  return readAcceptLanguage(head.header('accept-language'));
}

/** Reads the interests and the user of a registration. The SDKs send neither. */
function readMore(
  context: EndpointContext,
  instance: PushInstance,
  { body, call }: { readonly body: JsonObject; readonly call: PushCall },
): Pick<NewRegistration, 'interests' | 'user'> | PushRefusal {
  const names = isGiven(body['interests']) ? readInterestSet(body) : undefined;
  if (names instanceof PushRefusal) return names;
  const authorization = call.header('authorization') ?? '';
  // Earlier releases read no token here, and some backends send their key with every request.
  const isKey = secretKeyOf(instance, bearerOf(authorization) ?? '') !== undefined;
  const verified = authorization === '' || isKey ? undefined : verifyUser(context, instance, call);
  if (verified instanceof PushRefusal) return verified;
  return {
    interests: names && { names, instanceMax: instance.limits.interests },
    user: verified && newUser(verified, instance),
  };
}

function refuseRegistration(
  context: EndpointContext,
  instance: PushInstance,
  why: RegisterRefusal,
): PushRefusal {
  switch (why) {
    case 'full':
      return refuseFull(context, instance, 'devices');
    case 'host-full':
      return HOST_FULL;
    case 'interests-full':
      return refuseFull(context, instance, 'interests');
    case 'other-user':
      return OTHER_USER;
    case 'user-full':
      return USER_FULL;
    default:
      return why satisfies never;
  }
}

/** The SDK, and the browser or system, as the request names them. */
function clientOf(head: PushHead): string {
  return [head.header('x-pusher-library'), head.header('user-agent')]
    .filter((text) => text !== undefined && text !== '')
    .join(' ');
}

/** `GET …/devices/PLATFORM/ID`. */
export function readDevice(context: EndpointContext): PushEndpoint {
  const { devices, guard } = context;
  return deviceEndpoint(context, ({ key }) =>
    guard.ask(
      () => devices.get(key),
      (device) => {
        if (device === undefined) return NO_DEVICE;
        const { id, userId = null, metadata } = device;
        return { json: JSON.stringify({ id, userId, metadata }) };
      },
    ),
  );
}

/**
 * `DELETE …/devices/PLATFORM/ID`. Succeeds for any id, as the Android SDK repeats it until it succeeds. Source: §3.7.
 * Unknown devices cost no write, since anybody may send any number of ids.
 */
export function deleteDevice(context: EndpointContext): PushEndpoint {
  const { devices, taps, guard, rates } = context;
  return instanceEndpoint(context, (instance, call) => {
    const id = deviceIdOf(call);
    if (id === undefined) return DONE;
    const key = { instance: instance.number, id };
    const remove = ({ platform, userId: user }: Device) =>
      rates.refuse('rows', call, instance) ??
      guard.ask(
        () => devices.delete(key),
        (removed) => {
          const tap = taps.watched?.get(instance.number);
          tap?.record({ kind: 'removed', device: id, platform, user, devices: removed });
          return DONE;
        },
      );
    return guard.ask(
      () => devices.get(key),
      (device) => (device === undefined ? DONE : remove(device)),
    );
  });
}

/** `PUT …/devices/PLATFORM/ID/metadata`. */
export function setMetadata(context: EndpointContext): PushEndpoint {
  const { devices, guard, now, rates } = context;
  return deviceEndpoint(context, ({ instance, key }, call) => {
    const body = readDeviceBody(call);
    if (body instanceof PushRefusal) return body;
    const metadata = readMetadata(body);
    if (metadata instanceof PushRefusal) return metadata;
    const refused = rates.refuse('rows', call, instance);
    if (refused !== undefined) return refused;
    const change = { ...key, metadata, acceptLanguage: languageOf(call), nowMs: now() };
    return guard.ask(() => devices.setMetadata(change), doneIf);
  });
}

/** `PUT …/devices/fcm/ID/token` and `…/devices/web/ID/token`. */
export function setToken(context: EndpointContext): PushEndpoint {
  const { devices, guard, now, rates } = context;
  return deviceEndpoint(context, ({ instance, key }, call) => {
    const body = readDeviceBody(call);
    if (body instanceof PushRefusal) return body;
    const token = readNewToken(call.params.platform, body, instance);
    if (token instanceof PushRefusal) return token;
    const refused = rates.refuse('rows', call, instance, sizeInRows(call));
    if (refused !== undefined) return refused;
    return guard.ask(
      () => devices.setToken({ ...key, ...token, nowMs: now() }),
      (set) => (set === 'host-full' ? HOST_FULL : doneIf(set)),
    );
  });
}
