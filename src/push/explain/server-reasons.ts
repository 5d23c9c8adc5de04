import type { Platform } from '../model/device.ts';
import type { ReasonMeaning, ReasonMeanings } from './reason-meaning.ts';

/** Reasons that this server gives on its own: no gateway was asked, or none had an answer to give. */
export const serverReasons: ReasonMeanings = {
  expired: {
    why: 'the time that the publish gives it ran out while it waited',
    advice:
      'Give the publish a longer `time_to_live` (fcm, web) or a later `expiration` (apns). If many devices are late, look in the log for gateways that are paused.',
  },
  fault: {
    why: 'something broke inside this server',
    advice: 'Look in the log at that time, and report what stands there.',
  },
  'settings-unusable': {
    why: 'a file that the settings of the instance name cannot be used',
    advice:
      'The log of the server says what is wrong with it. Mend the file and send the server SIGHUP: what waits goes out then.',
  },
  'claim-ended': {
    why: 'the server that was at it could not finish in time, or was stopped, and gave it back',
  },
  cancelled: { why: 'the publish was cancelled' },
  'waited-for-its-turn': {
    why: 'others were before it, and the gateway takes only so much at a time',
  },
  'no-outcome': {
    why: 'nothing was heard of the attempt, so nobody knows whether the device got it',
    advice: 'The device may show it twice. Look in the log at that time.',
  },
  'publish-unreadable': {
    why: 'this version of the server cannot read what was published',
    advice: 'Publish it again.',
  },
  'token-stale': {
    why: 'the gateway says that the token was dead before the device registered with it, so that the app may be there again',
    advice:
      'Open the app on the device once, with a network: the SDK then registers the token that is valid now.',
  },
  'device-removed': {
    why: 'the device was deleted after the publish was planned, and before its turn came',
    advice:
      'If the app has registered anew since then, it is another device: see which id the app has now.',
  },
};

/** Nobody is reached on a platform for which the instance has no gateway. */
export function noGateway(platform: Platform): ReasonMeaning {
  return {
    why: 'the instance has no credentials for devices of this platform',
    advice: `Set \`${platform}\` of the instance, and publish again.`,
    saysAll: true,
  };
}
