import type { ReasonMeaning, ReasonMeanings } from './reason-meaning.ts';

const OPEN_APP =
  'Nothing, if the app was removed. Otherwise open it on the device: the SDK registers again, with a new device id.';

const CHECK_KEY =
  'Compare `apns.teamId`, `apns.keyId` and `apns.privateKeyFile` of the instance with the key in the Apple developer account (Certificates, Identifiers & Profiles, Keys). Until this is fixed, no iOS device can be reached.';

const INVALID_REQUEST: ReasonMeaning = {
  why: 'Apple finds a request of this server invalid',
  advice:
    'If `apns.origin` of the instance is set, check the server there. Otherwise report this as a bug.',
};

const APPLE_FAILED: ReasonMeaning = {
  why: 'Apple has a temporary problem',
  advice: 'If it lasts, see developer.apple.com/system-status.',
};

/** Apple's reasons. Source: push protocol, §8.1, "Responses". */
export const apnsReasons: ReasonMeanings = {
  BadDeviceToken: {
    why: 'Apple does not know the token in the environment that was used (production or sandbox)',
    advice:
      'Apps installed by Xcode have sandbox tokens; apps from TestFlight and the App Store have production tokens. Set `apns.environment` of the instance to `sandbox`, `production`, or `auto` for both.',
    kept: {
      why: 'Apple does not know the token in the environment that was used (production or sandbox), nor any other token of this app so far. The environment is probably wrong, so the device was kept',
    },
  },
  DeviceTokenNotForTopic: {
    why: 'the token belongs to another app than the bundle id with which the device registered, or is of another kind',
    advice:
      'Check which app registers and with which `kind`, and that the key belongs to the team of this app.',
  },
  ChannelNotRegistered: {
    why: 'Apple knows no such broadcast channel',
    advice: 'Create it again, in the environment that `apns.environment` of the instance names.',
  },
  BadChannelId: {
    why: 'Apple does not accept the id of the broadcast channel',
    advice: 'Delete the channel, and create another one.',
  },
  FeatureNotEnabled: {
    why: 'broadcast channels are not switched on for the app',
    advice:
      'Switch on Broadcast Capability for the bundle id in the Apple developer account (Certificates, Identifiers & Profiles, Identifiers).',
  },
  Unregistered: {
    why: 'the app was removed from the device, or has a new token',
    advice: OPEN_APP,
  },
  ExpiredToken: { why: 'the token has expired', advice: OPEN_APP },

  BadCollapseId: {
    why: 'Apple does not accept the `collapse_id`',
    advice: 'Publish one of at most 64 bytes.',
  },
  BadExpirationDate: {
    why: 'Apple does not accept the `expiration`',
    advice: 'Publish it in seconds since 1970.',
  },
  BadPriority: {
    why: 'Apple does not accept the `priority`',
    advice: 'Publish 5, 10 or none. A notification that only wakes up the app must have 5.',
  },
  BadRequestPayload: {
    why: 'Apple does not accept the payload of the live activity',
    advice: 'Compare `apns.aps` with what the activity of the app decodes.',
  },
  BadTopic: {
    why: 'Apple does not know the bundle id with which the device registered',
    advice: 'Check the bundle id of the app that registers.',
  },
  TopicDisallowed: {
    why: 'Apple does not allow notifications to the bundle id with which the device registered',
    advice:
      'Check the bundle id of the app, that it has the capability Push Notifications, and that the key is valid for it.',
  },
  InvalidPushType: {
    why: 'the payload does not fit the push type',
    advice:
      'Publish `aps` with an `alert`, a `badge` or a `sound`, or with `content-available` alone. Tokens of another `kind` take their own `apns.push_type`.',
  },
  PayloadEmpty: { why: 'the payload is empty', advice: 'Publish an `aps` with content.' },
  PayloadTooLarge: {
    why: 'the notification has more than 4,096 bytes (5,120 of type `voip`), including what the server adds for delivery reports',
    advice: 'Shorten the text or `data`.',
  },
  BadMessageId: INVALID_REQUEST,
  DuplicateHeaders: INVALID_REQUEST,
  MissingTopic: INVALID_REQUEST,
  MissingDeviceToken: INVALID_REQUEST,
  BadPath: INVALID_REQUEST,
  MethodNotAllowed: INVALID_REQUEST,

  ExpiredProviderToken: {
    why: 'the clock of this server is more than an hour off',
    advice: 'Set the clock of this server, with NTP. Until then, no iOS device can be reached.',
  },
  BadEnvironmentKeyInToken: {
    why: "the key is for Apple's other environment (production or sandbox)",
    advice:
      'Set `apns.environment` of the instance to the environment of the key, or create a key for both.',
  },
  InvalidProviderToken: {
    why: 'Apple does not accept the key, its id or the team id, or the clock of this server is off',
    advice: `${CHECK_KEY} Compare the clock of this server with NTP: the credential holds the time at which it was signed.`,
  },
  MissingProviderToken: {
    why: 'the request reached Apple without its credential',
    advice:
      'A proxy may remove the `Authorization` header: check `apns.origin` of the instance. Otherwise report this as a bug.',
  },
  BadCertificate: { why: 'Apple does not accept the certificate', advice: CHECK_KEY },
  BadCertificateEnvironment: {
    why: "the certificate is for Apple's other environment (production or sandbox)",
    advice: 'Set `apns.environment` of the instance to the environment of the certificate.',
  },
  UnrelatedKeyIdInToken: {
    why: 'the key does not belong to the team, or another key was used on the same connection',
    advice: CHECK_KEY,
  },
  Forbidden: { why: 'Apple does not allow this with this key', advice: CHECK_KEY },

  IdleTimeout: { why: 'Apple closed the idle connection' },
  Shutdown: { why: 'Apple was closing the connection' },
  TooManyProviderTokenUpdates: {
    why: 'the provider token of the team was renewed too often',
    advice:
      'Wait: no action is needed. If it returns, other programs use keys of the same team and renew their tokens more often than every 20 minutes.',
  },
  TooManyRequests: {
    why: 'too many notifications were sent to this device in a short time',
    advice: 'Send to it less often.',
  },
  InternalServerError: APPLE_FAILED,
  ServiceUnavailable: APPLE_FAILED,

  // This server's own reasons, before it sends to Apple.
  'no-apns-token': {
    why: 'the device registered with a token that is not an APNs token',
    advice:
      'The app must pass the SDK the token from `didRegisterForRemoteNotificationsWithDeviceToken`.',
  },
  'no-bundle-id': {
    why: 'the device registered without a valid bundle id',
    advice: 'Update the SDK in the app and open the app: it registers again.',
  },
};
