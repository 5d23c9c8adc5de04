import type { DeviceStory } from '../model/delivery.ts';
import type { PublishStatus } from '../model/publish.ts';
import { type TimelineEvent, timeText } from './timeline.ts';

const outside: Readonly<Record<DeviceStory['kind'], Pick<TimelineEvent, 'detail' | 'advice'>>> = {
  interests: {
    detail:
      'The device is not subscribed to any of the interests of the publish, as things are now.',
    advice:
      'Compare the interests of the device (GET /device_api/v1/instances/ID/devices/PLATFORM/DEVICE-ID/interests) with those of the publish: capitals count.',
  },
  users: {
    detail: 'The device belongs to none of the users of the publish, as things are now.',
    advice:
      'Compare the user of the device (`userId` of GET /device_api/v1/instances/ID/devices/PLATFORM/DEVICE-ID) with those of the publish. A device has a user once the app has signed it in with `setUserId`.',
  },
};

/** Why a publish is not for a device, as far as that can be seen now; `undefined`: nothing speaks against it. */
export function audienceEvent(
  { platform, kind, registeredAtMs, removed, matches, hasPayload, page }: DeviceStory,
  { createdAtMs, sendAtMs }: PublishStatus,
): TimelineEvent | undefined {
  const dueAtMs = sendAtMs ?? createdAtMs;
  const no = (detail: string, advice: string | undefined): TimelineEvent => ({
    atMs: undefined,
    what: 'not-in-audience',
    detail,
    advice,
  });
  if (!hasPayload) {
    return no(
      `The publish has nothing for devices of this platform: there is no \`${platform}\` in it.`,
      `Publish with \`${platform}\` beside the others.`,
    );
  }
  if (removed !== undefined) {
    // Of a device that is gone, nobody knows any more what it was subscribed to.
    return page === 'ahead' || removed.atMs <= dueAtMs
      ? no('The device was removed before the publish came to it.', undefined)
      : no(
          'The publish was not for this device when whom it is for was looked up. Why is not known any more: its interests and its user are gone with it.',
          undefined,
        );
  }
  if (page === 'none' && registeredAtMs > dueAtMs) {
    return no(
      `The device registered after the publish went out, at ${timeText(dueAtMs)}. It may be the same app under another id: a registration anew makes another device.`,
      'Publish again, or look at the id that the app had before.',
    );
  }
  if (matches === undefined) {
    return no(
      `The publish was not for this device when whom it was for was looked up. Why is not known any more: it had so many ${kind} that they are forgotten once it is finished.`,
      undefined,
    );
  }
  if (!matches) return no(outside[kind].detail, outside[kind].advice);
  return undefined;
}
