import { explain } from '../../../../push/explain/explain.ts';
import { explanationJson } from '../../../../push/explain/timeline.ts';
import type { DeviceId } from '../../../../push/model/device.ts';
import { platforms } from '../../../../push/model/device.ts';
import { readDeviceId } from '../../../../push/model/device-id.ts';
import { readPublishId } from '../../../../push/model/publish-id.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import type { PushEndpoint } from '../../call.ts';
import type { EndpointContext } from '../context.ts';
import { backendEndpoint } from './backend-endpoint.ts';
import { NO_PUBLISH } from './publish-status.ts';

const NO_DEVICE_ID = new PushRefusal(
  'device-not-found',
  'That is no device id. Device ids begin with apns-, fcm- or web-; getDeviceId of the SDKs returns them',
);

const NO_DEVICE = new PushRefusal(
  'device-not-found',
  'The instance has no such device: it never registered here, the app deleted it or registered again with another id, or it was removed more than 30 days ago. Compare the id with the one that the app has now',
);

/** `GET …/publishes/ID/devices/DEVICE-ID`: why a device did or did not get a publish. */
export function explainDevice(context: EndpointContext): PushEndpoint {
  const { publishes, stories, pauses, guard, now } = context;
  return backendEndpoint(context, 'nothing', (instance, { params }) => {
    const { number } = instance;
    const id = readPublishId(params.publishId);
    if (id === undefined) return NO_PUBLISH;
    const deviceId = deviceIdIn(params.device);
    return guard.ask(
      () =>
        Promise.all([
          publishes.status({ instance: number, id, nowMs: now() }),
          deviceId && stories.story({ instance: number, publish: id, device: deviceId }),
        ]),
      ([status, story]) => {
        if (status === undefined) return NO_PUBLISH;
        if (deviceId === undefined) return NO_DEVICE_ID;
        if (story === undefined) return NO_DEVICE;
        const explanation = explain(story, status, {
          deviceId,
          nowMs: now(),
          pauses: pauses().filter((one) => one.instance === number),
          manners: instance,
        });
        return { json: JSON.stringify(explanationJson(explanation)) };
      },
    );
  });
}

/** Reads a device id, whose prefix names the platform. */
function deviceIdIn(text: string): DeviceId | undefined {
  for (const platform of platforms) {
    const id = readDeviceId(text, platform);
    if (id !== undefined) return id;
  }
  return undefined;
}
