import type { ReasonMeaning, ReasonMeanings } from './reason-meaning.ts';

const OPEN_APP =
  'Nothing, if the app was removed. Otherwise open it on the device: the SDK registers again, with a new device id.';

const CHECK_ACCOUNT =
  'Compare `fcm.serviceAccountFile` of the instance with the Firebase console (Project settings, Service accounts). Until this is fixed, no Android device can be reached.';

const FCM_FAILED: ReasonMeaning = {
  why: 'FCM has a temporary problem',
  advice: 'If it lasts, see status.firebase.google.com.',
};

const OVER_QUOTA: ReasonMeaning = {
  why: "FCM's quota is exceeded, for the project or for this device",
  advice:
    'Wait: no action is needed. A device accepts 240 messages per minute. For the quotas of the project, see the Google Cloud console (Firebase Cloud Messaging API, Quotas).',
};

const REQUEST_CANCELLED: ReasonMeaning = { why: 'FCM cancelled the request' };

const TOKENS_UNAVAILABLE: ReasonMeaning = {
  why: 'Google cannot issue an access token now',
  advice: 'If it lasts, see status.firebase.google.com.',
};

/** The reasons of FCM, and of the service that issues access tokens. Source: push protocol, §8.2. */
export const fcmReasons: ReasonMeanings = {
  INVALID_ARGUMENT: {
    why: 'FCM finds the message or the token malformed',
    kept: {
      why: 'FCM finds the message malformed, or larger than 4,096 bytes',
      advice:
        'See the field that FCM names. Keys of `data` must not be `from` or `message_type`, or begin with `google` or `gcm`.',
    },
    removed: {
      why: 'FCM says that the token is not valid',
      advice: 'Open the app on the device: the SDK registers again, with a new device id.',
    },
  },
  UNREGISTERED: {
    why: 'the app was removed from the device, its data was cleared, or it has a new token',
    advice: OPEN_APP,
  },
  SENDER_ID_MISMATCH: {
    why: 'the device belongs to another Firebase project than the service account',
    advice:
      'Compare the project in the app (`google-services.json`) with the one in `fcm.serviceAccountFile` of the instance.',
    kept: {
      why: 'the device belongs to another Firebase project than the service account. The account has reached no device so far and is probably the wrong one, so the device was kept',
    },
  },
  PERMISSION_DENIED: {
    why: 'the service account is not allowed to send for its project',
    advice: `Enable the Firebase Cloud Messaging API in the Google Cloud console, and give the account a role that allows sending. ${CHECK_ACCOUNT}`,
  },
  THIRD_PARTY_AUTH_ERROR: {
    why: 'the device is an iPhone or a browser, and Firebase has no valid credential for it',
    advice: 'Upload the APNs key or the web push key in the Firebase console (Cloud Messaging).',
  },
  UNAUTHENTICATED: { why: 'FCM does not accept the access token', advice: CHECK_ACCOUNT },
  NOT_FOUND: {
    why: 'FCM does not know the project of the service account',
    advice: CHECK_ACCOUNT,
  },
  QUOTA_EXCEEDED: OVER_QUOTA,
  RESOURCE_EXHAUSTED: OVER_QUOTA,
  UNAVAILABLE: FCM_FAILED,
  INTERNAL: FCM_FAILED,
  DEADLINE_EXCEEDED: FCM_FAILED,
  UNKNOWN: FCM_FAILED,
  ABORTED: REQUEST_CANCELLED,
  CANCELLED: REQUEST_CANCELLED,

  'access-token-no-answer': {
    why: 'the service that issues access tokens did not answer in time',
    advice:
      'Check the network of this server: it must reach `token_uri` of the service account, usually oauth2.googleapis.com, or what takes its place: `token_url` of an external account, or the metadata server.',
  },
  'access-token-unreachable': {
    why: 'this server could not connect to the service that issues access tokens',
    advice:
      'Check the network of this server: it must reach `token_uri` of the service account, usually oauth2.googleapis.com, or what takes its place: `token_url` of an external account, or the metadata server.',
  },
  'access-token-address-not-allowed': {
    why: 'the service that issues access tokens resolves to an address that is not allowed',
    advice: 'Check `token_uri` in the file of the service account, and the DNS of this server.',
  },
  'access-token-no-access-token': {
    why: 'the server at `token_uri` of the service account returned no access token',
    advice: "It is probably not Google's: check `token_uri`, and proxies in between.",
  },
  'access-token-no-subject-token': {
    why: 'the file or URL in `credential_source` of the external account gives no token',
    advice: 'Check that this server can read it, and what puts the token there.',
    hasDetails: true,
  },
  'access-token-no-metadata-server': {
    why: 'what answers at the address of the metadata server is not one of Google',
    advice:
      '`fcm.metadata` works on GCE, GKE and Cloud Run only. Elsewhere set `fcm.serviceAccountFile`.',
  },
  'access-token-invalid_grant': {
    why: 'Google does not accept the service account, or the clock of this server is wrong',
    advice: `Check the clock of this server. If it is right, the key of the account was deleted: create another one. ${CHECK_ACCOUNT}`,
  },
  'access-token-internal_failure': TOKENS_UNAVAILABLE,
  'access-token-server_error': TOKENS_UNAVAILABLE,
  'access-token-temporarily_unavailable': TOKENS_UNAVAILABLE,
};

/** Any other reason for which there is no access token. */
export const NO_ACCESS_TOKEN: ReasonMeaning = {
  why: 'there is no access token for the service account',
  advice: CHECK_ACCOUNT,
};
