import { GAVE_WAY } from '../backlog-store.ts';
import { QUIET_HOURS } from '../delivering/due-times.ts';
import { RETRIES_ENDED } from '../delivering/routes/lifetime.ts';
import { OVER_CAP } from '../model/cap.ts';
import type { DeviceEvent, DeviceStory } from '../model/delivery.ts';
import type { Platform } from '../model/device.ts';
import { TOO_MANY_FOR_DEVICE } from '../model/device-pause.ts';
import { adviceOn } from './advice.ts';
import { type TimelineEvent, timeText } from './timeline.ts';

const gatewayNames: Readonly<Record<Platform, string>> = {
  apns: 'Apple',
  fcm: 'FCM',
  web: 'The push service of the browser',
};

/** What can keep an accepted notification from being shown. */
const onTheDevice: Readonly<Record<Platform, string>> = {
  apns: 'The device has not reported it. Check the device: is it on and online? Are notifications allowed for the app, and not held back by a Focus? An app that the user has swiped away shows notifications but does not report them.',
  fcm: 'The device has not reported it. Check the device: is it on and online? Are notifications allowed for the app? Was the app force-stopped in the settings, or restricted to save battery? A notification with only `data` shows nothing by itself.',
  web: 'The browser has not reported it. Check the browser: is it running and online? Are notifications allowed for the site, and for the browser by the system? Is the service worker of the SDK active?',
};

/** Reasons that end a notification before its time to live does. */
const ENDED: readonly string[] = [RETRIES_ENDED, GAVE_WAY, TOO_MANY_FOR_DEVICE, QUIET_HOURS];

const NOTHING_SHOWN =
  'If nothing was shown: an app in the foreground or a site with the focus may show nothing, the system may not allow notifications, and a notification with only `data` shows nothing by itself.';

const LONGER =
  'Give the publish a longer `time_to_live` (fcm, web) or a later `expiration` (apns), or publish again.';

/** Describes what happened to a publish at the gateway of a device, and on the device. */
export function gatewayEvent(event: DeviceEvent, story: DeviceStory, nowMs: number): TimelineEvent {
  const { atMs, reason, words, attempts } = event;
  const { platform } = story;
  const advise = (device?: 'kept' | 'removed') =>
    adviceOn({ platform, reason, words, ...(device === undefined ? {} : { device }) });
  switch (event.what) {
    case 'accepted': {
      const before =
        attempts > 1 && reason !== '' ? ` Before that, it failed: ${advise().why}.` : '';
      return {
        atMs,
        what: 'accepted',
        detail: `${gatewayNames[platform]} accepted it${attempts > 1 ? ` at attempt ${attempts}` : ''}.${before}${textOf(story)}`,
        advice: isReported(story) ? undefined : onTheDevice[platform],
      };
    }
    case 'retry': {
      const { why, advice } = advise();
      return {
        atMs,
        what: 'retry',
        detail: `${failedText(attempts)}: ${why}.${next(story, nowMs)}`,
        advice,
      };
    }
    case 'failed': {
      if (reason === OVER_CAP) {
        const { advice } = advise();
        return {
          atMs,
          what: 'not-sent',
          detail: `It had ${words}, the cap of the instance.`,
          advice,
        };
      }
      const { why, advice } = advise('kept');
      const after = attempts > 1 ? ` after ${attemptsText(attempts)}` : '';
      return { atMs, what: 'failed', detail: `Given up${after}: ${why}.`, advice };
    }
    case 'expired': {
      const { why, advice } = advise();
      const after =
        attempts === 0 ? ' before the first attempt' : ` after ${attemptsText(attempts)}`;
      // None of them is about its time to live.
      if (ENDED.includes(reason)) {
        return { atMs, what: 'expired', detail: `Given up${after}: ${why}.`, advice };
      }
      return {
        atMs,
        what: 'expired',
        detail: `Its time to live ended${after}: ${why}.`,
        advice: reason === 'expired' ? advice : [advice, LONGER].filter(isText).join(' '),
      };
    }
    case 'pruned': {
      const { why, advice } = advise('removed');
      const became =
        story.removed === undefined
          ? 'The device had another token by then, and is still registered.'
          : 'The device was removed.';
      return {
        atMs,
        what: 'pruned',
        detail: `Its token is no longer valid: ${why}. ${became}`,
        advice,
      };
    }
    case 'cancelled':
      return {
        atMs,
        what: 'cancelled',
        detail: 'The publish was cancelled before the next attempt.',
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

/** Judging by its present language: that of the time is not kept. */
function textOf({ text }: DeviceStory): string {
  return text === undefined ? '' : ` It has the text \`${text.of}\` for \`${text.language}\`.`;
}

function isReported({ events }: DeviceStory): boolean {
  return events.some(({ what }) => what === 'delivered' || what === 'opened');
}

function failedText(attempts: number): string {
  return attempts === 0 ? 'Not sent yet' : `${attemptsText(attempts)} failed so far`;
}

function attemptsText(attempts: number): string {
  return attempts === 1 ? '1 attempt' : `${attempts} attempts`;
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
