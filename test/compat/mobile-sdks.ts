import { randomBytes, randomUUID } from 'node:crypto';
import type { RawAnswer } from '../../testing/clients/raw-http.ts';
import { INSTANCE } from '../../testing/servers/push-server.ts';
import { type Transcript, transcript } from './transcript.ts';

const { id: instanceId } = INSTANCE;
const DEVICE_API = `/device_api/v1/instances/${instanceId}/devices`;
const EVENTS = `/reporting_api/v2/instances/${instanceId}/events`;
/** Both SDKs have this URL built in. */
const HOST = `Host: ${instanceId}.pushnotifications.pusher.com`;

/** The report of a device about a notification: the fields that both SDKs send. */
export interface MobileReport {
  readonly event: 'Delivery' | 'Open';
  readonly publishId: string;
  readonly deviceId: string;
  readonly userId?: string | undefined;
  readonly timestampSecs: number;
  readonly appInBackground?: boolean;
  readonly hasDisplayableContent?: boolean;
  readonly hasData?: boolean;
}

/** The purpose of a request. The reaction of an SDK to an answer depends on it. */
export type MobileJob =
  | 'register'
  | 'set metadata'
  | 'set token'
  | 'add interest'
  | 'remove interest'
  | 'set interests'
  | 'set user'
  | 'delete'
  | 'report';

/** The reaction of an SDK to an answer. Source: push protocol, §3.7. */
export type Decision =
  | 'done'
  /** It forgets the job. */
  | 'skip'
  /** It notifies the app that the user's token was refused, and drops the job. */
  | 'bad user token'
  /** It believes that its push token is invalid, and stops. */
  | 'bad push token'
  /** It registers again, sets interests and user, and then repeats the job. */
  | 'register again'
  /** It waits and repeats the request, without a limit. */
  | 'retry';

/** One of the two SDKs for apps: its requests, and its reactions to answers. */
export interface MobileSdk {
  readonly platform: 'apns' | 'fcm';
  /** Two tokens that no other app has. */
  newPushTokens(): readonly [string, string];
  register(token: string, previousIds?: readonly string[]): Transcript;
  setMetadata(deviceId: string): Transcript;
  addInterest(deviceId: string, name: string): Transcript;
  removeInterest(deviceId: string, name: string): Transcript;
  setInterests(deviceId: string, names: readonly string[]): Transcript;
  setUser(deviceId: string, userToken: string): Transcript;
  /** `undefined` if the SDK never reports a new token. */
  setToken: ((deviceId: string, token: string) => Transcript) | undefined;
  delete(deviceId: string): Transcript;
  report(report: MobileReport): Transcript;
  decide(job: MobileJob, answer: RawAnswer): Decision;
}

/** Sent with every request, even without a body. */
const IOS_HEADERS = [
  HOST,
  'Content-Type: application/json',
  'X-Pusher-Library: push-notifications-swift 4.0.0',
  'Connection: keep-alive',
  'Accept: */*',
  'User-Agent: Shop/1 CFNetwork/3826.500.131 Darwin/24.5.0',
  'Accept-Language: en-GB,en;q=0.9',
  'Accept-Encoding: gzip, deflate, br',
];

/** Escapes slashes, and omits missing values. */
function swiftJson(value: object): string {
  return JSON.stringify(value).replaceAll('/', '\\/');
}

const iosMetadata = { sdkVersion: '4.0.0', iosVersion: '18.5.0' };

/**
 * push-notifications-swift 4.0.0. The requests follow its source (`NetworkService`, `URL+NetworkService`,
 * `RetryStrategy`). The headers that the system adds, and their order, are those of other apps.
 */
export const ios: MobileSdk = {
  platform: 'apns',
  // Lower-case hex of the token of the system: 32 bytes, or 80 bytes on newer systems.
  newPushTokens: () => [randomBytes(32).toString('hex'), randomBytes(80).toString('hex')],
  register: (token) =>
    transcript(
      [`POST ${DEVICE_API}/apns HTTP/1.1`, ...IOS_HEADERS, 'Content-Length: *'],
      swiftJson({ token, bundleIdentifier: 'com.example.Shop', metadata: iosMetadata }),
    ),
  setMetadata: (deviceId) =>
    transcript(
      [`PUT ${DEVICE_API}/apns/${deviceId}/metadata HTTP/1.1`, ...IOS_HEADERS, 'Content-Length: *'],
      swiftJson(iosMetadata),
    ),
  // Names are not encoded in the path.
  addInterest: (deviceId, name) =>
    transcript([
      `POST ${DEVICE_API}/apns/${deviceId}/interests/${name} HTTP/1.1`,
      ...IOS_HEADERS,
      'Content-Length: *',
    ]),
  removeInterest: (deviceId, name) =>
    transcript([
      `DELETE ${DEVICE_API}/apns/${deviceId}/interests/${name} HTTP/1.1`,
      ...IOS_HEADERS,
    ]),
  setInterests: (deviceId, interests) =>
    transcript(
      [
        `PUT ${DEVICE_API}/apns/${deviceId}/interests HTTP/1.1`,
        ...IOS_HEADERS,
        'Content-Length: *',
      ],
      swiftJson({ interests }),
    ),
  setUser: (deviceId, userToken) =>
    transcript([
      `PUT ${DEVICE_API}/apns/${deviceId}/user HTTP/1.1`,
      ...IOS_HEADERS,
      `Authorization: Bearer ${userToken}`,
      'Content-Length: *',
    ]),
  setToken: undefined,
  delete: (deviceId) =>
    transcript([`DELETE ${DEVICE_API}/apns/${deviceId} HTTP/1.1`, ...IOS_HEADERS]),
  report: ({ event, publishId, deviceId, userId, timestampSecs, ...flags }) =>
    transcript(
      [`POST ${EVENTS} HTTP/1.1`, ...IOS_HEADERS, 'Content-Length: *'],
      swiftJson({ event, instanceId, publishId, deviceId, userId, timestampSecs, ...flags }),
    ),
  decide(job, { status, body }) {
    if (status >= 200 && status < 300) {
      return job === 'register' && !isRegistration(body) ? 'retry' : 'done';
    }
    switch (status) {
      case 400:
        return 'skip';
      case 401:
      case 403:
        return descriptionOf(body).includes('device token') ? 'bad push token' : 'bad user token';
      case 404:
        return 'register again';
      default:
        return 'retry';
    }
  },
};

/** Sent with every request. */
const ANDROID_HEADERS = [
  HOST,
  'Connection: Keep-Alive',
  'Accept-Encoding: gzip',
  'User-Agent: okhttp/3.12.0',
];
const ANDROID_LIBRARY = 'x-pusher-library: push-notifications-android 1.10.0';

/** A request. `POST` and `PUT` always have a body, even if it is empty; others have none. */
function android(method: string, path: string, body?: object, authorization?: string): Transcript {
  const text = body === undefined ? '' : JSON.stringify(body);
  const type = body === undefined ? [] : ['Content-Type: application/json; charset=UTF-8'];
  const length = method === 'POST' || method === 'PUT' ? ['Content-Length: *'] : [];
  return transcript(
    [
      `${method} ${path} HTTP/1.1`,
      ...(authorization === undefined ? [] : [`Authorization: ${authorization}`]),
      ANDROID_LIBRARY,
      ...type,
      ...length,
      ...ANDROID_HEADERS,
    ],
    text,
  );
}

const androidMetadata = { sdkVersion: '1.10.0', androidVersion: '16' };

/**
 * push-notifications-android 1.10.0. The requests follow its source (`PushNotificationService`,
 * `PushNotificationsAPI`, `ReportingService`). Headers, their order and the encoding of paths were recorded with
 * Retrofit 2.5.0, which the SDK uses. Retrofit encodes no character that an interest may have.
 */
export const androidSdk: MobileSdk = {
  platform: 'fcm',
  newPushTokens: () => [`eXaMpLe-0_1:APA91b-${randomUUID()}`, `eXaMpLe-0_1:APA91b-${randomUUID()}`],
  register: (token, knownPreviousClientIds = []) =>
    android('POST', `${DEVICE_API}/fcm`, {
      token,
      knownPreviousClientIds,
      metadata: androidMetadata,
    }),
  setMetadata: (deviceId) =>
    android('PUT', `${DEVICE_API}/fcm/${deviceId}/metadata`, androidMetadata),
  addInterest: (deviceId, name) =>
    android('POST', `${DEVICE_API}/fcm/${deviceId}/interests/${name}`),
  removeInterest: (deviceId, name) =>
    android('DELETE', `${DEVICE_API}/fcm/${deviceId}/interests/${name}`),
  setInterests: (deviceId, interests) =>
    android('PUT', `${DEVICE_API}/fcm/${deviceId}/interests`, { interests }),
  setUser: (deviceId, userToken) =>
    android('PUT', `${DEVICE_API}/fcm/${deviceId}/user`, undefined, `Bearer ${userToken}`),
  setToken: (deviceId, token) => android('PUT', `${DEVICE_API}/fcm/${deviceId}/token`, { token }),
  delete: (deviceId) => android('DELETE', `${DEVICE_API}/fcm/${deviceId}`),
  report: ({ event, publishId, deviceId, userId, timestampSecs, ...flags }) =>
    android('POST', EVENTS, {
      event,
      instanceId,
      deviceId,
      userId,
      publishId,
      timestampSecs,
      ...flags,
    }),
  decide(job, { status, body }) {
    if (status >= 200 && status < 300) {
      return job === 'register' && !isRegistration(body) ? 'retry' : 'done';
    }
    switch (job) {
      case 'register':
      case 'delete':
        return 'retry';
      case 'report':
        return status >= 500 ? 'retry' : 'skip';
      case 'set user':
        if (status === 401 || status === 403) return 'bad user token';
        if (status === 422) return 'skip';
        break;
      default:
    }
    if (status === 404) return 'register again';
    return status === 400 ? 'skip' : 'retry';
  },
};

/** Whether the SDK can read the answer. Android fails if a field is missing or null. */
function isRegistration(body: string): boolean {
  const { id, initialInterestSet } = JSON.parse(body);
  return (
    typeof id === 'string' &&
    Array.isArray(initialInterestSet) &&
    initialInterestSet.every((name) => typeof name === 'string')
  );
}

function descriptionOf(body: string): string {
  return String(JSON.parse(body).description);
}
