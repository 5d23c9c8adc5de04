import type { PushProblem } from '../../push/refusal.ts';

export interface ProblemRow {
  readonly status: number;
  /** The field `error`. Libraries distinguish errors by it. */
  readonly title: string;
  readonly when: string;
  readonly advice: string;
}

/** The status and the title of each problem. Source: the seed's "Errors"; push protocol, §2.2 to §3.8. */
export const statuses = {
  'content-type': {
    status: 400,
    title: 'Invalid content type',
    when: 'The body is not sent as JSON, or is compressed.',
    advice: 'Send `Content-Type: application/json`, and no `Content-Encoding`.',
  },
  incomplete: {
    status: 400,
    title: 'Incomplete Request',
    when: 'The path has no instance id, or the request has no `Authorization` header.',
    advice: 'The text names what is missing. Check the instance id that the library was given.',
  },
  'bad-request': {
    status: 400,
    title: 'Bad request',
    when: 'A request of a backend or a report of a device breaks a rule: its body is too large or not a JSON object, or its query has more than 128 parameters, for example. Or a request is not valid HTTP: its connection is closed. Nothing was done.',
    advice: 'The text names the field or the limit.',
  },
  'bad-device-request': {
    status: 400,
    title: 'Bad Request',
    when: 'Another request of a device breaks a rule: its body is too large or not a JSON object, for example. Nothing was done.',
    advice: 'The text names the field or the limit.',
  },
  'bad-interest': {
    status: 400,
    title: 'Invalid interest name',
    when: 'A device names an invalid interest.',
    advice: 'Use 1 to 164 letters, digits and `_ - = @ , . ;`.',
  },
  'too-many-interests': {
    status: 400,
    title: 'Interest set too large',
    when: 'A device would have more than 5,000 interests. Nothing was changed.',
    advice: 'Remove interests first.',
  },
  unauthorized: {
    status: 401,
    title: 'Unauthorized',
    when: 'The secret key does not belong to the instance, a user token is not valid or has expired, or a registration has a token that its gateway does not know.',
    advice:
      'Compare the secret key with the ones of the instance; check the clock of the backend that makes user tokens.',
  },
  'over-plan': {
    status: 402,
    title: 'Payment Required',
    when: 'Gateways have accepted more devices of the instance than `limits.devices` allows. Devices that were never accepted do not count. Nothing was sent.',
    advice: 'Raise the limit, or remove devices: `fanfare devices remove`.',
  },
  'instance-full': {
    status: 429,
    title: 'Instance Full',
    when: 'A device registers, but the instance has reached `limits.devices`; or a device adds interests, but the devices of the instance have reached `limits.interests` together. Nothing was changed. The SDKs of iOS and Android retry automatically, at most once a minute.',
    advice: 'Raise the limit, or remove devices that were never reached: `fanfare devices remove`.',
  },
  forbidden: {
    status: 403,
    title: 'Forbidden',
    when: 'A user token was issued for another instance.',
    advice: 'Make tokens with the library of the same instance.',
  },
  'instance-not-found': {
    status: 404,
    title: 'Instance not found',
    when: 'No instance has the id in the path.',
    advice: 'Compare the id with the one that the server printed or was configured with.',
  },
  'device-not-found': {
    status: 404,
    title: 'Device not found',
    when: 'The device was deleted, or its gateway said that its token is no longer valid.',
    advice: 'None needed: the SDK registers again.',
  },
  'publish-not-found': {
    status: 404,
    title: 'Publish not found',
    when: 'The instance has no publish with this id, or no longer keeps it.',
    advice: 'Use the `publishId` of the answer to a publish.',
  },
  'not-found': {
    status: 404,
    title: 'Not found',
    when: 'There is no such path.',
    advice: 'Check the path, including slashes at its ends.',
  },
  'wrong-method': {
    status: 405,
    title: 'Method not allowed',
    when: 'The path exists, but not with this method.',
    advice: 'The `Allow` header names the methods.',
  },
  unprocessable: {
    status: 422,
    title: 'Unprocessable Entity',
    when: 'A publish is JSON but breaks a rule of its schema, or the frame of an import or a new broadcast channel does; or a user has as many devices as allowed. Nothing was done.',
    advice:
      'The text names the field and the rule. The SDK of iOS repeats the sign-in of a user with too many devices for ever, about once a minute: set `whenUserIsFull: replace-oldest`.',
  },
  'rate-limited': {
    status: 429,
    title: 'Rate Limited',
    when: 'A rate or a limit is exceeded: `limits.publishesPerSecond` of the instance; `limits.backendRequestsPerSecond`, by other requests of its backend or by invalid publishes; `limits.pendingPublishBytes`, by publishes that were not tried yet; `limits.importRowsPerSecond`, by imports; the 100 devices of an instance at a push service that the operator has not named; or, for requests without a secret key, `push.addressLimits` or the limits of the instance for devices. Nothing was done. The SDKs of iOS and Android retry automatically.',
    advice: 'Try again after the number of seconds in the `Retry-After` header.',
  },
  timeout: {
    status: 408,
    title: 'Request Timeout',
    when: 'A request took longer than 30 seconds, or its head longer than 10 seconds; or after 5 seconds, its body was slower than `push.bodyBytesPerSecond` on average. The connection is closed.',
    advice: 'Check the network, and that the body is as long as `Content-Length` says.',
  },
  'head-too-large': {
    status: 431,
    title: 'Request Header Fields Too Large',
    when: 'The head of a request is larger than 16 KiB, or has more than 198 headers. The connection is closed.',
    advice: 'Check the headers that proxies and cookies add.',
  },
  'bad-gateway': {
    status: 502,
    title: 'Bad gateway',
    when: 'Apple does not create or delete a broadcast channel, or does not answer. Nothing was done here.',
    advice:
      'The text has the reason of Apple. `FeatureNotEnabled`: switch on Broadcast Capability for the bundle id in the Apple developer account. `CannotCreateChannelConfig`: delete channels that are no longer needed.',
  },
  store: {
    status: 503,
    title: 'Service Unavailable',
    when: 'The server is starting or overloaded, or its store cannot be used now. Nothing was done. An overloaded server first refuses the instance or address with the most requests in progress, and may close its connections.',
    advice: 'Try again, after the number of seconds in the `Retry-After` header if there is one.',
  },
  internal: {
    status: 500,
    title: 'Something went wrong',
    when: 'An internal error. The log has the details.',
    advice: 'Report it as a bug.',
  },
} as const satisfies Readonly<Record<PushProblem, ProblemRow>>;

/** The status of an answer. */
export type PushStatus = (typeof statuses)[PushProblem]['status'] | 200 | 204;
