import type { Platform } from '../model/device.ts';
import type { ReasonMeaning } from './reason-meaning.ts';

const names: Readonly<Record<Platform, string>> = {
  apns: 'Apple',
  fcm: 'FCM',
  web: 'the push service',
};

/** What an answer means of which nothing is known but its HTTP status. */
export function statusMeaning(platform: Platform, status: number): ReasonMeaning {
  const name = names[platform];
  if (status >= 500) return { why: `${name} has trouble of its own` };
  switch (status) {
    case 401:
    case 403:
      return {
        why: `${name} does not accept the credentials`,
        advice: `Check \`${platform}\` of the instance, and the clock of this server.`,
      };
    case 410:
      return { why: `${name} says that the token reaches nobody any more` };
    case 413:
      return { why: 'it is too large', advice: 'Publish less: the text, and `data`.' };
    case 408:
    case 425:
    case 429:
      return { why: `${name} wants less to be sent`, advice: 'It ends by itself.' };
    default:
      return {
        why: `${name} does not take the request`,
        advice:
          platform === 'web'
            ? 'Look it up in the documentation of the push service.'
            : `If \`${platform}.origin\` of the instance is set, or a proxy stands between, look there first.`,
      };
  }
}
