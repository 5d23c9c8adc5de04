import type { ReasonMeaning, ReasonMeanings } from './reason-meaning.ts';

const OPEN_APP =
  'Nothing, if the app is gone. Otherwise open it on the device: the SDK registers again, as another device.';

const CHECK_ACCOUNT =
  'Compare `fcm.serviceAccountFile` of the instance with the Firebase console (Project settings, Service accounts). Nobody is reached on Android before that is mended.';

const GOOGLE_IN_TROUBLE: ReasonMeaning = {
  why: 'FCM has trouble of its own',
  advice: 'If it lasts, see status.firebase.google.com.',
};

const OVER_QUOTA: ReasonMeaning = {
  why: 'more is sent than FCM allows: to all of the project, or to this device',
  advice:
    'It ends by itself. If it lasts, see the quotas of the Firebase Cloud Messaging API in the Google Cloud console; a device takes 240 in a minute.',
};

const LOST: ReasonMeaning = { why: 'FCM gave the request up' };

const AWAY: ReasonMeaning = {
  why: 'Google cannot give an access token now',
  advice: 'If it lasts, see status.firebase.google.com.',
};

/** What FCM answers, and what the service that gives access tokens does. Source: push protocol, §8.2. */
export const fcmReasons: ReasonMeanings = {
  INVALID_ARGUMENT: {
    why: 'FCM finds what was published, or the token, malformed',
    kept: {
      why: 'FCM finds what was published malformed, or larger than 4,096 bytes',
      advice:
        'See the words for the field. Keys of `data` must not be `from`, `message_type`, or begin with `google` or `gcm`.',
    },
    removed: {
      why: 'FCM says that the token is none',
      advice: 'Open the app on the device: the SDK registers again, as another device.',
    },
  },
  UNREGISTERED: {
    why: 'the app was removed from the device, its data was cleared, or it has got another token',
    advice: OPEN_APP,
  },
  SENDER_ID_MISMATCH: {
    why: 'the device belongs to another Firebase project than the service account',
    advice:
      'Compare the project of the app (`google-services.json`) with the one of `fcm.serviceAccountFile` of the instance.',
    kept: {
      why: 'the device belongs to another Firebase project than the service account, which has reached no device so far, so that it is probably the wrong account, and the device was kept',
    },
  },
  PERMISSION_DENIED: {
    why: 'the service account may not send for its project',
    advice: `Enable the Firebase Cloud Messaging API in the Google Cloud console, and give the account a role that may send. ${CHECK_ACCOUNT}`,
  },
  THIRD_PARTY_AUTH_ERROR: {
    why: 'the device is an iPhone or a browser, and Firebase has no valid credential for those',
    advice: 'Upload the APNs key or the web push key in the Firebase console (Cloud Messaging).',
  },
  UNAUTHENTICATED: { why: 'FCM does not accept the access token', advice: CHECK_ACCOUNT },
  NOT_FOUND: {
    why: 'FCM does not know the project of the service account',
    advice: CHECK_ACCOUNT,
  },
  QUOTA_EXCEEDED: OVER_QUOTA,
  RESOURCE_EXHAUSTED: OVER_QUOTA,
  UNAVAILABLE: GOOGLE_IN_TROUBLE,
  INTERNAL: GOOGLE_IN_TROUBLE,
  DEADLINE_EXCEEDED: GOOGLE_IN_TROUBLE,
  UNKNOWN: GOOGLE_IN_TROUBLE,
  ABORTED: LOST,
  CANCELLED: LOST,

  'access-token-no-answer': {
    why: 'the service that gives access tokens did not answer in time',
    advice:
      'Check the network of this server: it must reach `token_uri` of the service account, mostly oauth2.googleapis.com.',
  },
  'access-token-unreachable': {
    why: 'no connection to the service that gives access tokens could be made',
    advice:
      'Check the network of this server: it must reach `token_uri` of the service account, mostly oauth2.googleapis.com.',
  },
  'access-token-address-not-allowed': {
    why: 'the service that gives access tokens has an address that may not be connected to',
    advice: 'Look at `token_uri` in the file of the service account.',
  },
  'access-token-no-access-token': {
    why: 'what answers at `token_uri` of the service account gives no access token',
    advice: 'Something else than Google answers: check `token_uri`, and proxies on the route.',
  },
  'access-token-invalid_grant': {
    why: 'Google does not accept the service account, or finds the time of this server wrong',
    advice: `Set the clock of this server right. If it is, the key of the account was deleted: make another one. ${CHECK_ACCOUNT}`,
  },
  'access-token-internal_failure': AWAY,
  'access-token-server_error': AWAY,
  'access-token-temporarily_unavailable': AWAY,
};

/** Any other reason for which there is no access token. */
export const NO_ACCESS_TOKEN: ReasonMeaning = {
  why: 'there is no access token for the service account',
  advice: CHECK_ACCOUNT,
};
