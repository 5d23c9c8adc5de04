/** Why a request to the HTTP API is refused. */
export type ApiProblem =
  | 'invalid'
  | 'bad-handshake'
  | 'unauthenticated'
  | 'app-disabled'
  | 'origin-not-allowed'
  | 'over-quota'
  | 'rate-limited'
  | 'not-found'
  | 'wrong-method'
  | 'compressed-body'
  | 'data-too-large'
  | 'value-too-large'
  | 'value-unknown'
  | 'value-over'
  | 'request-too-large'
  | 'timeout'
  | 'overloaded'
  | 'engine-failed'
  | 'store-away'
  | 'stopping'
  | 'upgrade-required'
  | 'internal';

export interface StatusRow {
  readonly status: number;
  readonly when: string;
  readonly advice: string;
}

/** The HTTP status of each problem. Source: the HTTP API's "Errors"; Channels protocol, §14.1 and §14.2. */
export const statuses = {
  invalid: {
    status: 400,
    when: 'A parameter is missing or breaks a rule, the body is not UTF-8 or not a JSON object, or an attribute is asked for where it is not available. Nothing was sent.',
    advice: 'The text names the field and the rule.',
  },
  'bad-handshake': {
    status: 400,
    when: 'A request asks for a WebSocket, but is no valid handshake.',
    advice:
      'Check that no proxy removes headers: `Upgrade`, `Connection` and `Sec-WebSocket-*` must arrive.',
  },
  unauthenticated: {
    status: 401,
    when: 'The key, the app id, the clock, the body or the signature is not right; the text says which, see below.',
    advice: 'See below, by the beginning of the text.',
  },
  'app-disabled': {
    status: 403,
    when: 'The app is disabled.',
    advice: 'Enable the app again.',
  },
  'origin-not-allowed': {
    status: 403,
    when: 'A page reads channels with `key` alone or a token, and its origin is not in `allowedOrigins` of the app.',
    advice: 'List the origin in `allowedOrigins`, or let the backend sign the URL.',
  },
  'over-quota': {
    status: 403,
    when: 'The app has used the messages of `limits.messagesPerDay` for today (UTC). Nothing was sent.',
    advice: 'Raise the limit, or wait for midnight UTC.',
  },
  'rate-limited': {
    status: 429,
    when: 'The app triggers more events per second than `limits.triggersPerSecond` allows, asks more often than `limits.queriesPerSecond`, or asks for too many long listings at the same time; or clients of one address connect more often than `channels.addressLimits` allow. Or a request reads channels, and the app has as many connections as `limits.connections` allows. Nothing was sent.',
    advice: 'Try again after the seconds that the `Retry-After` header names.',
  },
  'not-found': {
    status: 404,
    when: 'There is no such path.',
    advice: 'Check the path, and `channels.pathPrefix` of the server.',
  },
  'wrong-method': {
    status: 405,
    when: 'The path exists, but not with this method.',
    advice: 'The `Allow` header names the method.',
  },
  'compressed-body': {
    status: 415,
    when: 'The body cannot be read, and its `Content-Encoding` says that it is compressed. Nothing was sent.',
    advice:
      'Send bodies uncompressed. A subscriber may decompress what is in the data of an event.',
  },
  'data-too-large': {
    status: 413,
    when: "An event's data is larger than `limits.eventDataBytes`. Nothing of the call was sent.",
    advice: 'Send less, or raise the limit of the app.',
  },
  'value-too-large': {
    status: 413,
    when: 'With an append, the value would have more bytes than `limits.appendBytes`, or than what all apps remember leaves it. Nothing was sent, and the value stays.',
    advice: 'End the value and begin another one, or raise the limit of the app.',
  },
  'value-unknown': {
    status: 404,
    when: 'An append goes on with a value that is not remembered: nothing was appended to it for 30 minutes, it was evicted, or a server without Redis has restarted. Or a value is to be stopped that does not grow.',
    advice: 'Send the value again from 0.',
  },
  'value-over': {
    status: 409,
    when: 'An append goes on with a value that has ended, or that another value of the channel has replaced.',
    advice: 'Stop: this producer has nothing to append to.',
  },
  'request-too-large': {
    status: 413,
    when: 'The body of the request is larger than `channels.requestBytes`. The connection is closed.',
    advice: 'Send fewer events per call, or raise the setting.',
  },
  timeout: {
    status: 408,
    when: 'The body of the request arrives more slowly than `channels.bodyBytesPerSecond`. The connection is closed.',
    advice: 'Check the network, and that the body is as long as `Content-Length` says.',
  },
  overloaded: {
    status: 503,
    when: 'The bodies of all unfinished requests, or all answers that were not read, take as much memory as `channels.unfinishedBytes`, and no other app keeps more of it. After a body the connection is closed. Or a request reads channels, and the server has no room for its connection.',
    advice: 'Try again after the seconds that the `Retry-After` header names.',
  },
  'engine-failed': {
    status: 503,
    when: 'The state of channels and their members cannot be reached (Redis is away); the log has the reason. Events of the request may have been sent.',
    advice: 'Try again after the seconds that the `Retry-After` header names.',
  },
  'store-away': {
    status: 503,
    when: 'A revocation could not be stored, because the store cannot be reached (its database is away); the log has the reason. It may still have been stored.',
    advice: 'Try again after the seconds that the `Retry-After` header names.',
  },
  stopping: {
    status: 503,
    when: 'The server stops: a WebSocket came through a proxy, and another server can take it. Or it is the only one, and saves its state.',
    advice:
      'Let the proxy try another server: `proxy_next_upstream error timeout http_503` in nginx. Send a request again after the seconds that the `Retry-After` header names.',
  },
  'upgrade-required': {
    status: 426,
    when: "A client's address was opened with plain HTTP.",
    advice: 'Open it as a WebSocket; behind a proxy, check that it passes the upgrade on.',
  },
  internal: {
    status: 500,
    when: 'The server failed; the log has the reason.',
    advice: 'Report it.',
  },
} as const satisfies Readonly<Record<ApiProblem, StatusRow>>;

/** The status of an answer, as the label of a metric. */
export type ApiStatus = `${(typeof statuses)[ApiProblem]['status'] | 200 | 202}`;

/** A refused request. Libraries show `text` to their users; it is plain text, as that of the hosted service. */
export class ApiRefusal {
  readonly problem: ApiProblem;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(problem: ApiProblem, text: string, headers?: Readonly<Record<string, string>>) {
    this.problem = problem;
    this.text = text;
    this.headers = headers;
  }
}

export function invalid(text: string): ApiRefusal {
  return new ApiRefusal('invalid', text);
}

/** Makes the answer to a refused request. */
export function refuseRequest(
  problem: ApiProblem,
  text: string,
  headers?: Readonly<Record<string, string>>,
): Response {
  return new Response(text, {
    status: statuses[problem].status,
    headers: { 'content-type': 'text/plain; charset=utf-8', ...headers },
  });
}
