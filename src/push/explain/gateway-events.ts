import type { DeviceEvent, DeviceStory } from '../model/delivery.ts';
import type { Platform } from '../model/device.ts';
import { adviceOn } from './advice.ts';
import { type TimelineEvent, timeText } from './timeline.ts';

const gatewayNames: Readonly<Record<Platform, string>> = {
  apns: 'Apple',
  fcm: 'FCM',
  web: 'The push service of the browser',
};

/** What may keep a notification from being seen that its gateway has taken. */
const onTheDevice: Readonly<Record<Platform, string>> = {
  apns: 'No report of the device has come. The rest is between Apple and the device: is it on, with a network? Are notifications allowed for the app, and does no Focus hold them back? An app that the user has swiped away shows notifications, but reports nothing.',
  fcm: 'No report of the device has come. The rest is between Google and the device: is it on, with a network? Are notifications allowed for the app, is it not stopped in the settings nor restricted to save battery? What has only `data` shows nothing by itself.',
  web: 'No report of the device has come. The rest is between the push service and the browser: does it run, with a network? Are its notifications allowed for the site, and by the system? Is the service worker of the SDK the one that is active?',
};

const NOTHING_SHOWN =
  'If nothing was shown: an app in the foreground, or a site that has the focus, may show nothing; the system may not allow the app or the browser to; and what has only `data` shows nothing by itself.';

const LONGER =
  'Give the publish a longer `time_to_live` (fcm, web) or a later `expiration` (apns), or publish again.';

/** Tells what has become of a publish at one device's gateway, and on the device. */
export function gatewayEvent(event: DeviceEvent, story: DeviceStory, nowMs: number): TimelineEvent {
  const { atMs, reason, words, attempts } = event;
  const { platform } = story;
  const meant = (device?: 'kept' | 'removed') =>
    adviceOn({ platform, reason, words, ...(device === undefined ? {} : { device }) });
  switch (event.what) {
    case 'accepted': {
      const before = attempts > 1 && reason !== '' ? ` Before that: ${meant().why}.` : '';
      return {
        atMs,
        what: 'accepted',
        detail: `${gatewayNames[platform]} has taken it${attempts > 1 ? `, at attempt ${attempts}` : ''}.${before}`,
        advice: isReported(story) ? undefined : onTheDevice[platform],
      };
    }
    case 'retry': {
      const { why, advice } = meant();
      return {
        atMs,
        what: 'retry',
        detail: `${triedText(attempts)}: ${why}.${next(story, nowMs)}`,
        advice,
      };
    }
    case 'failed': {
      const { why, advice } = meant('kept');
      const after = attempts > 1 ? ` after ${attempts} attempts` : '';
      return { atMs, what: 'failed', detail: `Given up${after}: ${why}.`, advice };
    }
    case 'expired': {
      const { why, advice } = meant();
      const after = attempts === 0 ? ' before it was tried' : `, tried ${times(attempts)}`;
      return {
        atMs,
        what: 'expired',
        detail: `Its time to live ran out${after}: ${why}.`,
        advice: reason === 'expired' ? advice : [advice, LONGER].filter(isText).join(' '),
      };
    }
    case 'pruned': {
      const { why, advice } = meant('removed');
      const became =
        story.removed === undefined
          ? 'It had another token by then and is still registered.'
          : 'The device was removed.';
      return {
        atMs,
        what: 'pruned',
        detail: `Its token reaches nobody: ${why}. ${became}`,
        advice,
      };
    }
    case 'cancelled':
      return {
        atMs,
        what: 'cancelled',
        detail: 'The publish was cancelled before it was tried again.',
        advice: undefined,
      };
    case 'delivered':
      return {
        atMs,
        what: 'delivered',
        detail: 'The device reported that it arrived.',
        advice: story.events.some(({ what }) => what === 'opened') ? undefined : NOTHING_SHOWN,
      };
    case 'opened':
      return {
        atMs,
        what: 'opened',
        detail: 'The device reported that it was opened.',
        advice: undefined,
      };
    default:
      return event.what satisfies never;
  }
}

function isReported({ events }: DeviceStory): boolean {
  return events.some(({ what }) => what === 'delivered' || what === 'opened');
}

function triedText(attempts: number): string {
  return attempts === 0 ? 'Not tried yet' : `Tried ${times(attempts)} so far`;
}

function times(attempts: number): string {
  if (attempts === 1) return 'once';
  return attempts === 2 ? 'twice' : `${attempts} times`;
}

function next({ nextAttemptAtMs }: DeviceStory, nowMs: number): string {
  if (nextAttemptAtMs === undefined) return '';
  return nextAttemptAtMs <= nowMs
    ? ' The next attempt is due.'
    : ` The next attempt is due at ${timeText(nextAttemptAtMs)}.`;
}

function isText(text: string | undefined): text is string {
  return text !== undefined;
}
