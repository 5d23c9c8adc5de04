import type { PushProblem } from '../../push/refusal.ts';

export interface ProblemRow {
  readonly status: number;
  /** What stands in `error`. Libraries tell faults apart by it. */
  readonly title: string;
  readonly when: string;
  readonly advice: string;
}

/** The status and the title of each problem. Source: the seed's "Errors"; push protocol, §2.2 to §3.8. */
export const statuses: Record<PushProblem, ProblemRow> = {
  'content-type': {
    status: 400,
    title: 'Invalid content type',
    when: 'The body is not sent as JSON.',
    advice: 'Send `Content-Type: application/json`.',
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
    when: 'A call of a backend, or a report of a device: the body is too large or not a JSON object, or a part of the request breaks a rule, such as a query with more than 100 parameters. Or a request is not valid HTTP; its connection is closed. Nothing was done.',
    advice: 'The text names the field or the limit.',
  },
  'bad-device-request': {
    status: 400,
    title: 'Bad Request',
    when: 'Another call of a device: the body is too large or not a JSON object, or a part of the request breaks a rule. Nothing was done.',
    advice: 'The text names the field or the limit.',
  },
  'bad-interest': {
    status: 400,
    title: 'Invalid interest name',
    when: 'A device names an interest that cannot exist.',
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
    when: 'The secret key is not one of the instance, a user token is not valid or has expired, or a registration has a token that its gateway does not know.',
    advice:
      'Compare the secret key with the ones of the instance; check the clock of the backend that makes user tokens.',
  },
  'over-plan': {
    status: 402,
    title: 'Payment Required',
    when: 'More devices of the instance than `limits.devices` allows have been accepted by a gateway. Devices that never were do not count. Nothing was sent.',
    advice: 'Raise the limit, or remove devices: `fanfare devices remove`.',
  },
  'instance-full': {
    status: 429,
    title: 'Instance Full',
    when: 'A device registers, and the instance has as many devices as `limits.devices` allows; or a device adds interests, and all devices of the instance have as many as `limits.interests` allows. Nothing was changed. The SDKs of iOS and Android try again by themselves, each at most once a minute.',
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
    when: 'The device was deleted, or its gateway said that it is gone.',
    advice: 'Nothing: the SDK registers again.',
  },
  'publish-not-found': {
    status: 404,
    title: 'Publish not found',
    when: 'The instance has no publish with this id, or it was forgotten.',
    advice: 'Use the `publishId` of the answer to a publish.',
  },
  'not-found': {
    status: 404,
    title: 'Not found',
    when: 'There is no such path.',
    advice: 'Check the path, slashes at its ends included.',
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
    when: 'A publish is JSON but breaks a rule of its schema, or a user has as many devices as allowed. Nothing was done.',
    advice: 'The text names the field and the rule.',
  },
  'rate-limited': {
    status: 429,
    title: 'Rate Limited',
    when: 'The instance publishes more often per second than `limits.publishesPerSecond` allows, or asks for other things, or publishes what breaks a rule, more often than `limits.backendRequestsPerSecond` allows, or its unfinished publishes have as many bytes as `limits.pendingPublishBytes` allows, or requests without a secret key come more often than `push.addressLimits` allow from their address, or the limits of the instance allow devices. Nothing was done. The SDKs of iOS and Android try again by themselves.',
    advice: 'Try again after the seconds that the `Retry-After` header names.',
  },
  timeout: {
    status: 408,
    title: 'Request Timeout',
    when: 'A request was not complete 30 seconds after its first byte, its head not after 10, or its body came more slowly than `push.bodyBytesPerSecond` on average after 5 seconds. The connection is closed.',
    advice: 'Check the network, and that the body is as long as `Content-Length` says.',
  },
  'head-too-large': {
    status: 431,
    title: 'Request Header Fields Too Large',
    when: 'The head of a request has more than 16 KiB, or more than 198 headers. The connection is closed.',
    advice: 'Check what proxies and cookies add to it.',
  },
  store: {
    status: 503,
    title: 'Service Unavailable',
    when: 'The server is starting or overloaded, or its store cannot be used now. Nothing was done. An overloaded server refuses those first of whose instance, or address, most is under way, and may close their connections.',
    advice: 'Try again, after the seconds that the `Retry-After` header names if there is one.',
  },
  internal: {
    status: 500,
    title: 'Something went wrong',
    when: 'The server failed; the log has the reason.',
    advice: 'Report it.',
  },
};
