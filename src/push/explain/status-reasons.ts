import type { Platform } from '../model/device.ts';
import type { ReasonMeaning } from './reason-meaning.ts';

const names: Readonly<Record<Platform, string>> = {
  apns: 'Apple',
  fcm: 'FCM',
  web: 'the push service',
};

/** What an answer means of which only the HTTP status is known. */
export function statusMeaning(platform: Platform, status: number): ReasonMeaning {
  const name = names[platform];
  if (status >= 500) return { why: `${name} has a temporary problem` };
  switch (status) {
    case 401:
    case 403:
      return {
        why: `${name} does not accept the credentials`,
        advice: `Check \`${platform}\` of the instance, and the clock of this server.`,
      };
    case 410:
      return { why: `${name} says that the token is no longer valid` };
    case 413:
      return { why: 'the notification is too large', advice: 'Shorten the text or `data`.' };
    case 408:
    case 425:
    case 429:
      return { why: `${name} limits the rate`, advice: 'Wait: no action is needed.' };
    default:
      return {
        why: `${name} refused the request`,
        advice:
          platform === 'web'
            ? 'Look it up in the documentation of the push service.'
            : `If \`${platform}.origin\` of the instance is set, or there is a proxy in between, check these first.`,
      };
  }
}
