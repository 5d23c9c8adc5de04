import type { ReasonMeaning, ReasonMeanings } from './reason-meaning.ts';

const SUBSCRIBE_AGAIN =
  'Nothing, if the user wanted that. Otherwise open the site in the browser: the SDK subscribes again, as another device, unless notifications are blocked there.';

const CHECK_VAPID =
  'Browsers must subscribe with the VAPID public key that the instance has now, and one that subscribed with another key must do so again. If all are refused, compare `web.vapid` of the instance, its `subject` included, with what it was.';

const GONE: ReasonMeaning = {
  why: 'the subscription is gone: the user took it back, or the browser has not been seen for long',
  advice: SUBSCRIBE_AGAIN,
};

const UNKNOWN_SUBSCRIPTION: ReasonMeaning = {
  why: 'the push service does not know the subscription',
  advice: SUBSCRIBE_AGAIN,
};

const OTHER_KEY: ReasonMeaning = {
  why: 'the push service does not accept who sends: the browser subscribed with another VAPID key, or what proves the key is wrong',
  advice: CHECK_VAPID,
};

const OWN_FAULT: ReasonMeaning = {
  why: 'the push service does not take the message as this server makes it',
  advice: 'Report it, with the words of the push service.',
};

const TROUBLE: ReasonMeaning = { why: 'the push service has trouble of its own' };

const TOO_MUCH: ReasonMeaning = {
  why: 'the push service wants less to be sent',
  advice: 'It ends by itself. If it lasts, publish less often.',
};

const TOO_LARGE: ReasonMeaning = {
  why: 'the message is larger than the push service takes',
  advice: 'Publish less: the text, and `data`.',
};

/** What push services answer, and what this server says before it asks them. Source: push protocol, §8.3.4. */
export const webReasons: ReasonMeanings = {
  'bad-subscription': {
    why: 'what the browser registered with is no subscription',
    advice: 'Open the site in the browser: the SDK registers again.',
  },
  'bad-keys': {
    why: 'nothing can be encrypted for the key that the browser registered with',
    advice:
      'Take the subscription back in the browser, and open the site: the SDK subscribes again.',
  },
  'host-not-allowed': {
    why: 'the push service of this browser is not among those that may be sent to',
    advice: 'Add its host to `web.allowedHosts` of the instance, if you know and trust it.',
  },

  'http-400': OWN_FAULT,
  'http-401': OTHER_KEY,
  'http-403': OTHER_KEY,
  'http-404': UNKNOWN_SUBSCRIPTION,
  'http-406': TOO_MUCH,
  'http-408': TROUBLE,
  'http-410': GONE,
  'http-413': TOO_LARGE,
  'http-421': TROUBLE,
  'http-425': TROUBLE,
  'http-429': TOO_MUCH,

  // Mozilla's.
  'errno-101': OWN_FAULT,
  'errno-102': UNKNOWN_SUBSCRIPTION,
  'errno-103': GONE,
  'errno-104': TOO_LARGE,
  'errno-105': GONE,
  'errno-106': GONE,
  'errno-108': OWN_FAULT,
  'errno-109': OTHER_KEY,
  'errno-110': {
    why: 'the push service does not accept the keys that the message was encrypted with',
    advice:
      'Take the subscription back in the browser, and open the site: the SDK subscribes again.',
  },
  'errno-111': OWN_FAULT,
  'errno-112': {
    why: 'the push service does not take the `time_to_live`',
    advice: 'Publish a shorter one.',
  },
  'errno-113': OWN_FAULT,
  'errno-201': TROUBLE,
  'errno-202': TROUBLE,
  'errno-900': TROUBLE,
  'errno-901': TROUBLE,
  'errno-902': TROUBLE,
  'errno-903': TROUBLE,
  'errno-999': TROUBLE,

  // Apple's.
  VapidPkHashMismatch: OTHER_KEY,
  BadJwtToken: {
    why: "Apple's push service does not accept who sends",
    advice:
      'Set `web.vapid.subject` of the instance to an address of yours (mailto: or https:, not at localhost), and the clock of this server right.',
  },
  BadWebPushTopic: OWN_FAULT,
};
