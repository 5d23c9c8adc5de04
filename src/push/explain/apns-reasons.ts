import type { ReasonMeaning, ReasonMeanings } from './reason-meaning.ts';

const OPEN_APP =
  'Nothing, if the app is gone. Otherwise open it on the device: the SDK registers again, as another device.';

const CHECK_KEY =
  'Compare `apns.teamId`, `apns.keyId` and `apns.privateKeyFile` of the instance with the key in the Apple developer account (Certificates, Identifiers & Profiles, Keys). Nobody is reached on iOS before that is mended.';

const OWN_FAULT: ReasonMeaning = {
  why: 'Apple does not take the request as this server makes it',
  advice:
    'If `apns.origin` of the instance is set, look at what stands there. Otherwise report it.',
};

const APPLE_IN_TROUBLE: ReasonMeaning = {
  why: 'Apple has trouble of its own',
  advice: 'If it lasts, see developer.apple.com/system-status.',
};

/** What Apple answers. Source: push protocol, §8.1, "Responses". */
export const apnsReasons: ReasonMeanings = {
  BadDeviceToken: {
    why: 'Apple does not know the token at the service that was asked (production or sandbox)',
    advice:
      'Apps that Xcode installs have tokens of the sandbox, those of TestFlight and the App Store tokens of production: set `apns.environment` of the instance to `sandbox`, `production`, or `auto` for both.',
    kept: {
      why: 'Apple does not know the token at the service that was asked (production or sandbox), nor has it known another one of this app, so that it is probably the wrong service, and the device was kept',
    },
  },
  DeviceTokenNotForTopic: {
    why: 'the token belongs to another app than the bundle id that the device registered with',
    advice: 'Check which app registers, and that the key belongs to the team of that app.',
  },
  Unregistered: {
    why: 'the app was removed from the device, or has got another token',
    advice: OPEN_APP,
  },
  ExpiredToken: { why: 'the token has expired', advice: OPEN_APP },

  BadCollapseId: {
    why: 'Apple does not take the `collapse_id`',
    advice: 'Publish one of at most 64 bytes.',
  },
  BadExpirationDate: {
    why: 'Apple does not take the `expiration`',
    advice: 'Publish it as seconds since 1970.',
  },
  BadPriority: {
    why: 'Apple does not take the `priority`',
    advice: 'Publish 5 or 10, or none; what only wakes the app up must have 5.',
  },
  BadTopic: {
    why: 'the bundle id that the device registered with is none that Apple knows',
    advice: 'Check the bundle id of the app that registers.',
  },
  TopicDisallowed: {
    why: 'Apple does not allow notifications to the bundle id that the device registered with',
    advice:
      'Check the bundle id of the app that registers, that it has the capability Push Notifications, and that the key may be used for it.',
  },
  InvalidPushType: {
    why: 'what was published is of another kind than Apple takes it for',
    advice:
      'Publish `aps` with an `alert`, a `badge` or a `sound`, or with `content-available` alone.',
  },
  PayloadEmpty: { why: 'there is nothing in it', advice: 'Publish an `aps` that says something.' },
  PayloadTooLarge: {
    why: 'it has more than 4,096 bytes, with what is added so that the device can report it',
    advice: 'Publish less: the text, and `data`.',
  },
  BadMessageId: OWN_FAULT,
  DuplicateHeaders: OWN_FAULT,
  MissingTopic: OWN_FAULT,
  MissingDeviceToken: OWN_FAULT,
  BadPath: OWN_FAULT,
  MethodNotAllowed: OWN_FAULT,

  ExpiredProviderToken: {
    why: 'Apple finds the time of this server wrong by more than an hour',
    advice: 'Set the clock of this server right, with NTP. Nobody is reached on iOS before that.',
  },
  BadEnvironmentKeyInToken: {
    why: "the key is for the other one of Apple's two services",
    advice:
      'Set `apns.environment` of the instance to what the key is for, or make a key that is for both.',
  },
  InvalidProviderToken: {
    why: 'Apple does not accept the key, its id, or the id of the team',
    advice: CHECK_KEY,
  },
  MissingProviderToken: {
    why: 'Apple has not got what proves who sends',
    advice:
      'A proxy may drop the `Authorization` header: look at `apns.origin` of the instance. Otherwise report it.',
  },
  BadCertificate: { why: 'Apple does not accept the certificate', advice: CHECK_KEY },
  BadCertificateEnvironment: {
    why: "the certificate is for the other one of Apple's two services",
    advice: 'Set `apns.environment` of the instance to what it is for.',
  },
  UnrelatedKeyIdInToken: {
    why: 'the key is not one of the team, or another key was used on the same connection',
    advice: CHECK_KEY,
  },
  Forbidden: { why: 'Apple does not allow it with this key', advice: CHECK_KEY },

  IdleTimeout: { why: 'Apple ended the connection, on which nothing had been sent for long' },
  Shutdown: { why: 'Apple was ending the connection' },
  TooManyProviderTokenUpdates: {
    why: 'Apple finds that the team proves too often who it is',
    advice:
      'It ends by itself. If it comes again, other programs use keys of the same team and renew their tokens more often than every 20 minutes.',
  },
  TooManyRequests: {
    why: 'too much was sent to this device in a short time',
    advice: 'Send to it less often.',
  },
  InternalServerError: APPLE_IN_TROUBLE,
  ServiceUnavailable: APPLE_IN_TROUBLE,

  // This server's own, before Apple is asked.
  'no-apns-token': {
    why: 'the token that the device registered with is none of Apple',
    advice:
      'The app must hand the SDK what `didRegisterForRemoteNotificationsWithDeviceToken` gives it.',
  },
  'no-bundle-id': {
    why: 'the device registered without a bundle id, or with one that cannot be one',
    advice: 'Update the SDK in the app, and open the app: it registers again.',
  },
};
