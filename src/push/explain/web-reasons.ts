import type { ReasonMeaning, ReasonMeanings } from './reason-meaning.ts';

const SUBSCRIBE_AGAIN =
  'Nothing, if the user unsubscribed. Otherwise open the site in the browser: the SDK subscribes again, with a new device id, unless notifications are blocked there.';

const CHECK_VAPID =
  'Browsers that subscribed with another VAPID public key than the present one of the instance must subscribe again. If all browsers are refused, compare `web.vapid` of the instance with its former value, including `subject`.';

const GONE: ReasonMeaning = {
  why: 'the subscription is gone: the user unsubscribed, or the browser was inactive for too long',
  advice: SUBSCRIBE_AGAIN,
};

const UNKNOWN_SUBSCRIPTION: ReasonMeaning = {
  why: 'the push service does not know the subscription',
  advice: SUBSCRIBE_AGAIN,
};

const OTHER_KEY: ReasonMeaning = {
  why: 'the push service does not accept the VAPID credential: the browser subscribed with another key, or the signature is wrong',
  advice: CHECK_VAPID,
};

const INVALID_REQUEST: ReasonMeaning = {
  why: 'the push service finds a request of this server invalid',
  advice: 'Report this as a bug, with the text of the push service.',
};

const TOPIC: ReasonMeaning = {
  why: 'the push service does not accept the `topic`',
  advice: 'Publish one that has 4, 8, 12 or so characters, which every push service can decode.',
};

const SERVICE_FAILED: ReasonMeaning = { why: 'the push service has a temporary problem' };

const RATE_LIMITED: ReasonMeaning = {
  why: 'the push service limits the rate',
  advice: 'Wait: no action is needed. If it lasts, publish less often.',
};

const TOO_LARGE: ReasonMeaning = {
  why: 'the message is too large for the push service',
  advice: 'Shorten the text or `data`.',
};

/** The reasons of push services, and this server's own before it sends to them. Source: push protocol, §8.3.4. */
export const webReasons: ReasonMeanings = {
  'bad-subscription': {
    why: 'the browser registered with an invalid subscription',
    advice: 'Open the site in the browser: the SDK registers again.',
  },
  'bad-keys': {
    why: 'the browser registered with a key that cannot be used for encryption',
    advice: 'Unsubscribe in the browser, and open the site: the SDK subscribes again.',
  },
  'host-not-allowed': {
    why: 'the push service of this browser is not allowed',
    advice: 'Add its host to `web.allowedHosts` of the instance, if you know and trust it.',
  },

  'http-400': INVALID_REQUEST,
  'http-401': OTHER_KEY,
  'http-403': OTHER_KEY,
  'http-404': UNKNOWN_SUBSCRIPTION,
  'http-406': RATE_LIMITED,
  'http-408': SERVICE_FAILED,
  'http-410': GONE,
  'http-413': TOO_LARGE,
  'http-421': SERVICE_FAILED,
  'http-425': SERVICE_FAILED,
  'http-429': RATE_LIMITED,

  // Mozilla's.
  'errno-101': INVALID_REQUEST,
  'errno-102': UNKNOWN_SUBSCRIPTION,
  'errno-103': GONE,
  'errno-104': TOO_LARGE,
  'errno-105': GONE,
  'errno-106': GONE,
  'errno-108': INVALID_REQUEST,
  'errno-109': OTHER_KEY,
  'errno-110': {
    why: 'the push service does not accept the keys with which the message was encrypted',
    advice: 'Unsubscribe in the browser, and open the site: the SDK subscribes again.',
  },
  'errno-111': INVALID_REQUEST,
  'errno-112': {
    why: 'the push service does not accept the `time_to_live`',
    advice: 'Publish a shorter one.',
  },
  'errno-113': TOPIC,
  'errno-201': SERVICE_FAILED,
  'errno-202': SERVICE_FAILED,
  'errno-900': SERVICE_FAILED,
  'errno-901': SERVICE_FAILED,
  'errno-902': SERVICE_FAILED,
  'errno-903': SERVICE_FAILED,
  'errno-999': SERVICE_FAILED,

  // Apple's.
  VapidPkHashMismatch: OTHER_KEY,
  BadJwtToken: {
    why: "Apple's push service does not accept the VAPID credential",
    advice:
      'Set `web.vapid.subject` of the instance to an address of yours (mailto: or https:, not at localhost), and check the clock of this server.',
  },
  BadWebPushTopic: TOPIC,
};
