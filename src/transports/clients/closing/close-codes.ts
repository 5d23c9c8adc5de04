/** The reasons to close a connection. */
export type ConnectionProblem =
  | 'path-not-found'
  | 'no-protocol'
  | 'bad-protocol'
  | 'unsupported-protocol'
  | 'app-not-found'
  | 'app-disabled'
  | 'app-over-quota'
  | 'origin-not-allowed'
  | 'server-over-capacity'
  | 'terminated'
  | 'not-authorised-in-time'
  | 'no-pong'
  | 'server-stopping'
  | 'server-restarting'
  | 'engine-failed'
  | 'events-lost'
  | 'grant-expired'
  | 'grant-revoked'
  | 'issuer-unreachable'
  | 'message-lost'
  | 'binary-frame'
  | 'too-many-frames'
  | 'internal';

export interface CloseRow {
  readonly code: number;
  readonly message: string;
  readonly when: string;
  readonly advice: string;
}

/**
 * The close code and message of each problem; both are sent as a `pusher:error` first, and then with the close.
 * Clients do not reconnect after 4000–4099, reconnect after a pause after 4100–4199, and at once after 4200–4299.
 * Source: Channels protocol, §4.
 */
export const closeCodes = {
  'app-not-found': {
    code: 4001,
    message: 'App key not in this cluster. Did you forget to specify the cluster?',
    when: 'No app has the key in the address.',
    advice: 'Compare the key with `fanfare apps list`.',
  },
  'app-disabled': {
    code: 4003,
    message: 'Application disabled',
    when: 'The app is disabled, or was disabled or deleted while the connection was open.',
    advice: 'Enable the app again.',
  },
  'app-over-quota': {
    code: 4004,
    message: 'Account over quota',
    when: 'The app has as many connections as `limits.connections` allows.',
    advice: 'Raise the limit, or close connections.',
  },
  'origin-not-allowed': {
    code: 4009,
    message: 'Origin not allowed',
    when: 'The page that connects has an origin that is not in `allowedOrigins` of the app.',
    advice:
      'List the origin in `allowedOrigins`, if the page is yours. The log and the page Problems of the dashboard name it.',
  },
  'path-not-found': {
    code: 4005,
    message: 'Path not found',
    when: 'The path of the address is not `/app/KEY`.',
    advice: 'Check `wsPath` of the client and `channels.pathPrefix` of the server.',
  },
  'bad-protocol': {
    code: 4006,
    message: 'Invalid version string format: protocol must be an integer',
    when: '`protocol` in the address is not an integer.',
    advice: 'Use an official client library.',
  },
  'unsupported-protocol': {
    code: 4007,
    message: 'Unsupported protocol version: 5, 6 and 7 are supported',
    when: '`protocol` in the address is an integer, but not 5, 6 or 7.',
    advice: 'Use a client library that speaks one of these.',
  },
  'no-protocol': {
    code: 4008,
    message: 'No protocol version supplied',
    when: 'The address has neither `protocol` nor a `version` that begins with an integer.',
    advice: 'Add `protocol=7` to the address.',
  },
  terminated: {
    code: 4009,
    message: 'Connection terminated by the application',
    when: "The app's backend ended all connections of the signed-in user.",
    advice: 'Nothing: the client does not reconnect by itself.',
  },
  'not-authorised-in-time': {
    code: 4009,
    message: 'Connection not authorized within timeout',
    when: 'The app takes authorised connections only, and this one neither signed in nor joined a private or presence channel within `channels.authorizationTimeoutSeconds`.',
    advice: 'Sign in or subscribe right after connecting.',
  },
  'server-over-capacity': {
    code: 4100,
    message: 'Over capacity',
    when: 'The server has as many connections as `channels.maxConnections` or its open files allow, and no other app or address has more of them than this one. Or it had to make room for another connection, because its app or address has the most. Or it stops, and a client still came to it over HTTP.',
    advice:
      'Raise the limit (see `ulimit -n` for open files) or add a server; clients come back by themselves.',
  },
  'server-stopping': {
    code: 4200,
    message: 'Server is stopping, please reconnect',
    when: 'The server is being stopped, and there are others.',
    advice: 'Nothing: clients reconnect at once, to another server.',
  },
  'server-restarting': {
    code: 4100,
    message: 'Server is stopping, please reconnect later',
    when: 'The server is being stopped, and there is no other one.',
    advice: 'Nothing: clients come back by themselves after a pause, in which it can start again.',
  },
  'engine-failed': {
    code: 4100,
    message: 'Server cannot answer now, please reconnect later',
    when: 'A subscription or sign-in could not be answered, because the state of channels, members and users could not be reached. With several servers: Redis was away for 30 to 40 s. The log has the reason.',
    advice: 'Look at `/readyz` of the server; clients come back by themselves after a pause.',
  },
  'grant-expired': {
    code: 4200,
    message: 'Grant expired, please reconnect',
    when: 'A grant or token has ended by which the connection is in a channel or signed in.',
    advice:
      'Nothing: clients reconnect at once and get a new grant. To prevent it, sign in again with a new one before.',
  },
  'grant-revoked': {
    code: 4200,
    message: 'Grant revoked, please reconnect',
    when: 'A grant or token was revoked by which the connection is in a channel or signed in.',
    advice: 'Nothing: clients reconnect and ask your backend for a new grant, which it may refuse.',
  },
  'issuer-unreachable': {
    code: 4100,
    message: 'Keys of the token issuer cannot be reached, please reconnect later',
    when: 'A client presents a token, and the key set at `grants.jwksUrl` of the app has never been fetched since the start of the server, or not for 24 hours.',
    advice:
      'Find out why it cannot be fetched: the conditions of the dashboard and the log say it. Clients come back by themselves after a pause.',
  },
  'events-lost': {
    code: 4200,
    message: 'Events may have been missed, please reconnect',
    when: 'With several servers: the client may have missed events of a channel, because its server could not reach Redis for long, or because Redis was restarted or replaced and may lack what was published last.',
    advice:
      'Nothing: clients come back at once. Those that resume get what they missed or learn that it is lost; others fetch their state when they are connected.',
  },
  'message-lost': {
    code: 4100,
    message: 'A message did not arrive in full, please reconnect',
    when: 'Over HTTP only: a request of the client broke off or was too slow, the server had no room for it, or the network repeated a request whose answer may be lost. Otherwise the client would not know that its message is lost.',
    advice: 'Nothing: clients come back by themselves after a pause.',
  },
  'no-pong': {
    code: 4201,
    message: 'Pong reply not received',
    when: 'The client was silent for `channels.activityTimeoutSeconds` and did not answer a ping within `channels.pongTimeoutSeconds`.',
    advice: 'Nothing: clients come back at once.',
  },
  'binary-frame': {
    code: 1003,
    message: 'Binary frames are not supported',
    when: 'The client sent a binary frame.',
    advice: 'Send text frames.',
  },
  'too-many-frames': {
    code: 1008,
    message: 'Too many messages',
    when: 'The client went on sending more frames than `channels.framesPerSecond` allows after it was warned (4301).',
    advice: 'Send less, or raise the setting.',
  },
  internal: {
    code: 1011,
    message: 'Internal server error',
    when: 'The server failed to handle a message of this client; the log has the reason.',
    advice: 'Report it.',
  },
} as const satisfies Readonly<Record<ConnectionProblem, CloseRow>>;

/** The problems with which a connection can be refused. The others end one that was accepted. */
export type RefusalProblem = Exclude<
  ConnectionProblem,
  | 'terminated'
  | 'not-authorised-in-time'
  | 'grant-expired'
  | 'grant-revoked'
  | 'issuer-unreachable'
  | 'no-pong'
  | 'binary-frame'
  | 'too-many-frames'
  | 'internal'
>;

/** The close code of a refused connection, as the label of a metric. */
export type RefusalCloseCode = `${(typeof closeCodes)[RefusalProblem]['code']}`;

/** The close codes that Bun itself uses, for the documentation. */
export const nativeCloseCodes: readonly CloseRow[] = [
  {
    code: 1002,
    message: '(names the fault)',
    when: 'A frame breaks RFC 6455, for example an unmasked one.',
    advice: 'Use a WebSocket library.',
  },
  {
    code: 1006,
    message: '(no close frame)',
    when: 'The client reads too slowly: more than `channels.sendBufferBytes` waited for it. Logged and counted by the server.',
    advice: 'Subscribe to less, or raise the setting.',
  },
  {
    code: 1007,
    message: 'Received invalid UTF-8',
    when: 'A text frame is not UTF-8.',
    advice: 'Send UTF-8.',
  },
  {
    code: 1009,
    message: 'Received too big message',
    when: 'A message is larger than `channels.clientFrameBytes`, in one frame or in fragments.',
    advice: 'Send smaller messages, or raise the setting.',
  },
];
