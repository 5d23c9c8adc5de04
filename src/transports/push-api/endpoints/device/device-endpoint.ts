import type { MaybePromise } from '../../../../channels/maybe-promise.ts';
import type { DeviceId } from '../../../../push/model/device.ts';
import { readDeviceId } from '../../../../push/model/device-id.ts';
import type { PushInstance } from '../../../../push/model/instance.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import { type JsonObject, readJsonObject } from '../../../../runtime/json-object.ts';
import type { Endpoint, PushAnswer, PushCall, PushHead } from '../../call.ts';
import type { EndpointContext } from '../context.ts';

/** SDKs register again when they read this. */
export const NO_DEVICE = new PushRefusal('device-not-found', 'Could not find the device');

export const DONE: PushAnswer = { empty: true };

/** A device that a path names. Nobody has looked whether it exists. */
export interface NamedDevice {
  readonly instance: PushInstance;
  readonly id: DeviceId;
}

/** What anybody may ask of an instance, as often as the rates allow. */
export function instanceEndpoint(
  context: EndpointContext,
  answer: (instance: PushInstance, call: PushCall) => MaybePromise<PushAnswer>,
): Endpoint {
  const find = (head: PushHead) => {
    const instance = instanceOf(context, head);
    return instance instanceof PushRefusal ? instance : { instance };
  };
  return found(context, find, ({ instance }, call) => answer(instance, call));
}

/**
 * What a device may ask. That it knows its id is all that it has to prove itself with. `whenNoId`: the answer
 * where the path has what can be no device's id; most say that there is no such device, so that SDKs register again.
 */
export function deviceEndpoint(
  context: EndpointContext,
  answer: (device: NamedDevice, call: PushCall) => MaybePromise<PushAnswer>,
  whenNoId: PushRefusal = NO_DEVICE,
): Endpoint {
  const find = (head: PushHead) => {
    const instance = instanceOf(context, head);
    if (instance instanceof PushRefusal) return instance;
    const id = deviceIdOf(head);
    return id === undefined ? whenNoId : { instance, id };
  };
  return found(context, find, answer);
}

/** For a large body: it is read only where there is such a device. */
export function deviceBeforeBody({
  instances,
  devices,
  guard,
}: EndpointContext): NonNullable<Endpoint['beforeBody']> {
  return async (head) => {
    const instance = instances.byId(head.params.instance);
    const id = deviceIdOf(head);
    // Looked at before, and again afterwards.
    if (instance === undefined || id === undefined) return undefined;
    return await guard.ask(
      () => devices.get(instance.number, id),
      (device) => (device === undefined ? NO_DEVICE : undefined),
    );
  };
}

/** The id of the device that a path names, where it has the form of one. */
export function deviceIdOf({ params }: PushHead): DeviceId | undefined {
  const { platform, device } = params;
  return platform && readDeviceId(device, platform);
}

/** Reads the body of a device's request. It counts as JSON whatever its content type: iOS names one always, others not. */
export function readDeviceBody({ body }: PushCall): JsonObject | PushRefusal {
  return (
    readJsonObject(body) ??
    new PushRefusal('bad-device-request', 'The body cannot be read as a JSON object')
  );
}

/** The answer of a store that says whether there is such a device. */
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
 * Finds what a path names before the body comes, and again after it: it may be gone since. Each request counts for the
 * instance, and what there is to read of it for the address as well.
 */
function found<Named extends { readonly instance: PushInstance }>(
  { rates }: EndpointContext,
  find: (head: PushHead) => Named | PushRefusal,
  answer: (named: Named, call: PushCall) => MaybePromise<PushAnswer>,
): Endpoint {
  return {
    before(head) {
      const named = find(head);
      if (named instanceof PushRefusal) return named;
      // The listener has counted it for the address.
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
