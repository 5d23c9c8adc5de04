import { CHANNELS_PER_INSTANCE } from '../../../../push/channel-store.ts';
import type { NewDevice } from '../../../../push/model/device.ts';
import { newDeviceId, readDeviceId } from '../../../../push/model/device-id.ts';
import type { PushInstance } from '../../../../push/model/instance.ts';
import { tokenIdentity } from '../../../../push/model/token-identity.ts';
import { storedToken } from '../../../../push/model/token-kind.ts';
import { FieldFault, PushRefusal, refuseField } from '../../../../push/refusal.ts';
import {
  type ChannelRequest,
  readChannelRequest,
} from '../../../../push/requests/channel-request.ts';
import { readJsonObject } from '../../../../runtime/json-object.ts';
import type { PushAnswer, PushEndpoint } from '../../call.ts';
import type { EndpointContext } from '../context.ts';
import { refuseFull } from '../device/instance-full.ts';
import { backendEndpoint } from './backend-endpoint.ts';

const DONE: PushAnswer = { empty: true };

const NO_KEY = new PushRefusal(
  'unprocessable',
  'The instance has no `apns`, so Apple cannot be asked for channels',
);

const TOO_MANY = new PushRefusal(
  'unprocessable',
  `The instance has the maximum of ${CHANNELS_PER_INSTANCE} channels already`,
);

/** `POST …/apns-channels`: creates a broadcast channel at Apple, and keeps it as a device. */
export function createChannel(context: EndpointContext): PushEndpoint {
  const { channels, guard } = context;
  return backendEndpoint(context, 'small-json', async (instance, { body }) => {
    const fields = readJsonObject(body);
    if (fields === undefined) {
      return new PushRefusal('bad-request', 'The body cannot be read as a JSON object');
    }
    const wanted = readChannelRequest(fields);
    if (wanted instanceof FieldFault) return refuseField('unprocessable', wanted);
    const apple = channels.at(instance.number);
    if (apple === undefined) return NO_KEY;
    const refused = await guard.ask(
      () => channels.stored.count(instance.number),
      (count) => (count < CHANNELS_PER_INSTANCE ? undefined : TOO_MANY),
    );
    if (refused !== undefined) return refused;
    const created = await apple.create(wanted.bundleId, wanted.storage);
    if (created.result === 'refused') return refusedByApple(created.why);
    const kept = await keep(context, instance, { wanted, channel: created.value });
    // What nobody knows of must not use up the channels that Apple allows.
    if (kept instanceof PushRefusal) {
      const deleted = await apple.delete(wanted.bundleId, created.value);
      if (deleted.result === 'refused') warnOfLeft(context, instance, deleted.why);
    }
    return kept;
  });
}

/** `GET …/apns-channels`. */
export function listChannels(context: EndpointContext): PushEndpoint {
  const { channels, guard } = context;
  return backendEndpoint(context, 'nothing', (instance) =>
    guard.ask(
      () => channels.stored.list(instance.number),
      (list) => ({ json: JSON.stringify({ channels: list }) }),
    ),
  );
}

/** `DELETE …/apns-channels/DEVICE-ID`: deletes a channel at Apple, and here. Succeeds for an unknown one. */
export function deleteChannel(context: EndpointContext): PushEndpoint {
  const { channels, devices, guard } = context;
  return backendEndpoint(context, 'nothing', async (instance, { params }) => {
    const id = readDeviceId(params.device, 'apns');
    if (id === undefined) return DONE;
    const key = { instance: instance.number, id };
    const found = await guard.ask(
      () => channels.stored.find(key),
      (channel) => channel,
    );
    if (found === undefined || found instanceof PushRefusal) return found ?? DONE;
    const apple = channels.at(instance.number);
    if (apple === undefined) return NO_KEY;
    // At Apple first: if the store then fails, the call can be repeated.
    const deleted = await apple.delete(found.bundleId, found.channel);
    if (deleted.result === 'refused') return refusedByApple(deleted.why);
    return await guard.ask(
      () => devices.delete(key),
      () => DONE,
    );
  });
}

interface Created {
  readonly wanted: ChannelRequest;
  readonly channel: string;
}

function keep(
  context: EndpointContext,
  instance: PushInstance,
  { wanted, channel }: Created,
): Promise<PushAnswer> {
  const { devices, guard, now } = context;
  const { bundleId, storage, interests } = wanted;
  const kind = storage === 'latest' ? 'channel-latest' : 'channel';
  const device: NewDevice = {
    id: newDeviceId('apns'),
    platform: 'apns',
    kind,
    token: storedToken(kind, channel),
    identity: tokenIdentity(`apns-channel:${bundleId}:${channel}`),
    bundleId,
    metadata: {},
    client: '',
  };
  return guard.ask(
    () =>
      devices.register({
        instance: instance.number,
        device,
        nowMs: now(),
        devicesMax: instance.limits.devices,
        interests: { names: interests, instanceMax: instance.limits.interests },
      }),
    (result) => {
      if (typeof result !== 'string') return { json: JSON.stringify({ id: result.id, channel }) };
      return refuseFull(context, instance, result === 'full' ? 'devices' : 'interests');
    },
  );
}

/** Apple counts it towards the channels that it allows. */
function warnOfLeft(
  { log, logThrottle }: EndpointContext,
  { id }: PushInstance,
  why: string,
): void {
  logThrottle.run(`channels of ${id}`, (throttled) =>
    log.warn('Broadcast channel left at Apple', { instance: id, why, ...throttled }),
  );
}

function refusedByApple(why: string): PushRefusal {
  return new PushRefusal('bad-gateway', `Apple has not done it: ${why}`);
}
