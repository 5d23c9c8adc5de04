import type { MaybePromise } from '../../../../channels/maybe-promise.ts';
import type { DeviceKey } from '../../../../push/device-store.ts';
import type { DeviceId } from '../../../../push/model/device.ts';
import { readDeviceId } from '../../../../push/model/device-id.ts';
import type { PushInstance } from '../../../../push/model/instance.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import { type JsonObject, readJsonObject } from '../../../../runtime/json-object.ts';
import type { PushAnswer, PushCall, PushEndpoint, PushHead } from '../../call.ts';
import type { EndpointContext } from '../context.ts';

/** SDKs register again when they get this. */
export const NO_DEVICE = new PushRefusal('device-not-found', 'Could not find the device');

export const DONE: PushAnswer = { empty: true };

/** A device that a path names. It may not exist. */
export interface NamedDevice {
  readonly instance: PushInstance;
  readonly key: DeviceKey;
}

/** An endpoint of an instance that anybody may call, as often as the rates allow. */
export function instanceEndpoint(
  context: EndpointContext,
  answer: (instance: PushInstance, call: PushCall) => MaybePromise<PushAnswer>,
): PushEndpoint {
  const find = (head: PushHead) => {
    const instance = instanceOf(context, head);
    return instance instanceof PushRefusal ? instance : { instance };
  };
  return found(context, find, ({ instance }, call) => answer(instance, call));
}

/**
 * An endpoint for devices, which authenticate by knowing their id. `whenNoId` is the answer if the path has no valid
 * device id; by default the same as for an unknown device, so that SDKs register again.
 */
export function deviceEndpoint(
  context: EndpointContext,
  answer: (device: NamedDevice, call: PushCall) => MaybePromise<PushAnswer>,
  whenNoId: PushRefusal = NO_DEVICE,
): PushEndpoint {
  const find = (head: PushHead) => {
    const instance = instanceOf(context, head);
    if (instance instanceof PushRefusal) return instance;
    const id = deviceIdOf(head);
    return id === undefined ? whenNoId : { instance, key: { instance: instance.number, id } };
  };
  return found(context, find, answer);
}

/** Keeps the body of a request from being read if the device does not exist: for large bodies. */
export function checkDeviceBeforeBody({
  instances,
  devices,
  guard,
}: EndpointContext): NonNullable<PushEndpoint['checkBeforeBody']> {
  return async (head) => {
    const instance = instances.byId(head.params.instance);
    const id = deviceIdOf(head);
    // Checked with the head, and again with the whole request.
    if (instance === undefined || id === undefined) return undefined;
    return await guard.ask(
      () => devices.get({ instance: instance.number, id }),
      (device) => (device === undefined ? NO_DEVICE : undefined),
    );
  };
}

/** The device id in a path, if it has the form of one. */
export function deviceIdOf({ params }: PushHead): DeviceId | undefined {
  const { platform, device } = params;
  return platform && readDeviceId(device, platform);
}

/** Reads the body of a device's request as JSON, whatever its Content-Type: only the iOS SDK always sends one. */
export function readDeviceBody({ body }: PushCall): JsonObject | PushRefusal {
  return (
    readJsonObject(body) ??
    new PushRefusal('bad-device-request', 'The body cannot be read as a JSON object')
  );
}

/** The answer once the store has been asked whether the device exists. */
export function doneIf(exists: boolean): PushAnswer {
  return exists ? DONE : NO_DEVICE;
}

function instanceOf(
  { instances, guard }: EndpointContext,
  head: PushHead,
): PushInstance | PushRefusal {
  return instances.byId(head.params.instance) ?? guard.noInstance();
}

/**
 * Finds what a path names before the body is read, and again afterwards, as it may be gone by then. Each request counts
 * towards the rate of the instance; each KiB of its body counts towards the rates of the instance and the address.
 */
function found<Named extends { readonly instance: PushInstance }>(
  { rates }: EndpointContext,
  find: (head: PushHead) => Named | PushRefusal,
  answer: (named: Named, call: PushCall) => MaybePromise<PushAnswer>,
): PushEndpoint {
  return {
    checkHead(head) {
      const named = find(head);
      if (named instanceof PushRefusal) return named;
      // The listener has counted the request for the address.
      return rates.refuseInstance('requests', head, named.instance);
    },
    answer(call) {
      const named = find(call);
      if (named instanceof PushRefusal) return named;
      const kibibytes = Math.floor(call.body.length / 1024);
      const refused =
        kibibytes > 0 ? rates.refuse('requests', call, named.instance, kibibytes) : undefined;
      return refused ?? answer(named, call);
    },
  };
}
