import { GAVE_WAY } from '../backlog-store.ts';
import { QUIET_HOURS } from '../delivering/due-times.ts';
import { OVER_CAP } from '../model/cap.ts';
import type { Platform } from '../model/device.ts';
import type { ReasonMeaning, ReasonMeanings } from './reason-meaning.ts';

/** This server's own reasons: it did not send to a gateway, or the gateway's answer does not matter. */
export const serverReasons: ReasonMeanings = {
  expired: {
    why: 'its time to live was over before it could be sent',
    advice:
      'Give the publish a longer `time_to_live` (fcm, web) or a later `expiration` (apns). If many devices are late, look for paused gateways in the log.',
  },
  'device-paused': {
    why: 'its gateway wants nothing sent to this device for now, or fails for it while others are accepted',
    advice:
      'Nothing, if it is accepted later: what waits is then sent. If it fails for days, the app is probably gone from the device.',
    hasCause: true,
  },
  'too-many-for-device': {
    why: 'more than 100 newer publishes waited for this device, whose gateway accepts nothing for it',
    advice: 'Publish less often to devices that fail, or give publishes a shorter `time_to_live`.',
  },
  'retries-ended': {
    why: 'the instance does not try a notification for longer, see `limits.retryHours`',
    advice: 'Publish it again if it still matters.',
    hasCause: true,
  },
  [OVER_CAP]: {
    why: 'it had as many notifications as the instance allows, see `cap`',
    advice: 'Publish with `urgent`, which passes the cap, or less often.',
    hasDetails: true,
  },
  [QUIET_HOURS]: {
    why: 'its time to live ends before its quiet hours do',
    advice:
      'Give the publish a longer `time_to_live` (fcm, web) or a later `expiration` (apns), or publish with `urgent`, which passes quiet hours.',
    hasDetails: true,
  },
  [GAVE_WAY]: {
    why: 'its publish waited only for failures, and newer publishes of the instance needed its room, see `limits.pendingPublishBytes`',
    advice:
      'Mend what failed, and publish it again if it still matters. `limits.pendingPublishBytes` says for how many publishes an outage leaves room.',
  },
  fault: {
    why: 'an internal error of this server',
    advice: 'Look for the error in the log at that time, and report it as a bug.',
  },
  'settings-unusable': {
    why: 'a file named in the settings of the instance cannot be used',
    advice:
      'The log says what is wrong with it. Fix the file and send SIGHUP to the server: waiting notifications are then sent.',
  },
  'claim-ended': {
    why: 'the server that was sending it stopped, or did not finish in time',
  },
  cancelled: { why: 'the publish was cancelled' },
  'waited-for-its-turn': {
    why: 'other notifications were ahead of it, and the rate to the gateway is limited',
  },
  'no-outcome': {
    why: 'the attempt had no result, so it is unknown whether the device got it',
    advice: 'The device may show it twice. Look for errors in the log at that time.',
  },
  'publish-unreadable': {
    why: 'this version of the server cannot read the publish',
    advice: 'Publish it again.',
  },
  'token-stale': {
    why: 'the gateway says that the token became invalid before the device registered with it, so the app may be installed again',
    advice:
      'Open the app on the device once, while it is online: the SDK then registers its present token.',
  },
  'device-removed': {
    why: 'the device was deleted before the notification was sent',
    advice:
      'If the app has registered again since then, it has a new device id: check the id in the app.',
  },
};

/** The instance has no gateway for a platform. */
export function noGateway(platform: Platform): ReasonMeaning {
  return {
    why: 'the instance has no credentials for devices of this platform',
    advice: `Configure \`${platform}\` of the instance, and publish again.`,
    saysAll: true,
  };
}
