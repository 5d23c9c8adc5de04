import type { DeviceStory } from '../model/delivery.ts';
import type { PublishStatus } from '../model/publish.ts';
import { reaches } from '../model/token-kind.ts';
import { type TimelineEvent, timeText } from './timeline.ts';

const outside: Readonly<Record<DeviceStory['kind'], Pick<TimelineEvent, 'detail' | 'advice'>>> = {
  interests: {
    detail: 'The device is not subscribed to any of the interests of the publish now.',
    advice:
      'Compare the interests of the device (GET /device_api/v1/instances/ID/devices/PLATFORM/DEVICE-ID/interests) with those of the publish. They are case-sensitive.',
  },
  users: {
    detail: 'The device does not belong to any of the users of the publish now.',
    advice:
      'Compare the user of the device (`userId` of GET /device_api/v1/instances/ID/devices/PLATFORM/DEVICE-ID) with those of the publish. A device gets its user when the app calls `setUserId`.',
  },
};

/** Says why a publish is not for a device, judging by the present state; `undefined`: nothing excludes it. */
export function audienceEvent(
  story: DeviceStory,
  { createdAtMs, sendAtMs }: PublishStatus,
): TimelineEvent | undefined {
  const { platform, kind, registeredAtMs, removed, matches, hasPayload, page } = story;
  const dueAtMs = sendAtMs ?? createdAtMs;
  const notInAudience = (detail: string, advice: string | undefined): TimelineEvent => ({
    atMs: undefined,
    what: 'not-in-audience',
    detail,
    advice,
  });
  if (!hasPayload) {
    return notInAudience(
      `The publish has no \`${platform}\` payload, so it is not for devices of this platform.`,
      `Add a \`${platform}\` payload to the publish.`,
    );
  }
  if (removed !== undefined) {
    // The interests of a removed device are no longer known.
    return page === 'ahead' || removed.atMs <= dueAtMs
      ? notInAudience('The device was removed before the publish was sent to it.', undefined)
      : notInAudience(
          'When the publish was sent, it was not for this device. The device was removed since, with its interests and its user, so the cause is no longer known.',
          undefined,
        );
  }
  if (!isOfKind(story)) {
    return notInAudience(
      otherKind(story),
      'Publish with the `apns.push_type` of its token, or register the token with the `kind` that it is for.',
    );
  }
  if (page === 'none' && registeredAtMs > dueAtMs) {
    return notInAudience(
      `The device registered after the publish was sent, at ${timeText(dueAtMs)}. If the app registered again, it had another device id before.`,
      'Publish again, or look up the former device id of the app.',
    );
  }
  if (matches === undefined) {
    return notInAudience(
      `When the publish was sent, it was not for this device. It had too many ${kind} to keep them, so the cause is no longer known.`,
      undefined,
    );
  }
  if (!matches) return notInAudience(outside[kind].detail, outside[kind].advice);
  return undefined;
}

/** Whether the publish is for tokens like that of the device. */
export function isOfKind({ platform, tokenKind, apns }: DeviceStory): boolean {
  return platform !== 'apns' || reaches(apns?.kind, tokenKind);
}

function otherKind({ tokenKind, apns }: DeviceStory): string {
  const token =
    tokenKind === undefined ? 'It has an ordinary token' : `Its token is of kind \`${tokenKind}\``;
  const { type = 'alert', kind } = apns ?? {};
  const publish = `${type === 'alert' ? 'an' : 'a'} \`${type}\``;
  // Of activities, some publishes are for the tokens that start one.
  const wanted = type === 'liveactivity' ? ` for tokens of kind \`${kind}\`` : '';
  return `${token}; the publish is ${publish}${wanted}.`;
}
