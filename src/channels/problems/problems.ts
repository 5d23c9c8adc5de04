/** The reasons why a client's request is refused while its connection stays open. */
export type InBandProblem =
  | 'malformed-message'
  | 'unsupported-event'
  | 'existing-subscription'
  | 'no-subscription'
  | 'subscription-unauthorised'
  | 'subscription-limit'
  | 'subscription-rate'
  | 'frame-rate'
  | 'client-events-off'
  | 'client-event-not-subscribed'
  | 'client-event-wrong-channel'
  | 'client-event-invalid'
  | 'client-event-rate'
  | 'client-event-unavailable'
  | 'client-event-not-granted'
  | 'not-granted'
  | 'token-invalid'
  | 'signin-invalid'
  | 'connections-per-user'
  | 'watchlist-limit';

export interface InBandRow {
  /** The `code` of the `pusher:error`; `null` for most, as in the hosted service. */
  readonly code: number | null;
  /** The fields of `pusher:subscription_error`, if a subscription is refused. */
  readonly subscription?: { readonly type: 'AuthError' | 'LimitReached'; readonly status: number };
  readonly when: string;
  readonly advice: string;
}

/** Every problem that leaves the connection open. Source: Channels protocol, §4, §5.3 and §7. */
export const inBandProblems: Record<InBandProblem, InBandRow> = {
  'malformed-message': {
    code: null,
    when: 'A frame is not a JSON object with a string `event`, or a message lacks a field it needs.',
    advice: 'Send the message in the form that the protocol gives; the text names the field.',
  },
  'unsupported-event': {
    code: null,
    when: 'A message names an event that clients cannot send.',
    advice: 'Client events must begin with `client-`.',
  },
  'existing-subscription': {
    code: null,
    when: 'The connection subscribes to a channel that it is in already.',
    advice: 'Nothing: the first subscription stands.',
  },
  'no-subscription': {
    code: null,
    when: 'The connection unsubscribes from a channel that it is not in, or not in yet.',
    advice: 'Wait for the confirmation before unsubscribing.',
  },
  'subscription-unauthorised': {
    code: null,
    subscription: { type: 'AuthError', status: 401 },
    when: 'The channel name, the authorisation or the `channel_data` of a subscription is not valid.',
    advice:
      "Compare the text with what the app's backend signed: key, socket id, channel, channel data.",
  },
  'subscription-limit': {
    code: null,
    subscription: { type: 'LimitReached', status: 4100 },
    when: 'A presence channel is full, a member is described at too great a length, or the connection is in too many channels.',
    advice: "Raise the app's limit that the text names, or use fewer members or channels.",
  },
  'subscription-rate': {
    code: 4301,
    subscription: { type: 'LimitReached', status: 4301 },
    when: 'A connection subscribes or signs in more often than `limits.subscriptionsPerSecond` of the app allows.',
    advice: 'Subscribe less often, or raise the limit.',
  },
  'frame-rate': {
    code: 4301,
    when: 'A connection sends more frames than `channels.framesPerSecond` allows. The client is warned once; its frames are dropped until it slows down, and it is closed with 1008 if it does not.',
    advice: 'Send less, or raise the setting.',
  },
  'client-events-off': {
    code: null,
    when: 'A client event is sent while the app does not allow them.',
    advice: 'Set `clientEvents` for the app.',
  },
  'client-event-not-subscribed': {
    code: null,
    when: 'A client event is sent to a channel that the connection is not in.',
    advice: 'Subscribe first, and wait for the confirmation.',
  },
  'client-event-wrong-channel': {
    code: null,
    when: 'A client event is sent to a channel that is neither private nor presence.',
    advice: 'Use a channel whose name begins with `private-` or `presence-`.',
  },
  'client-event-invalid': {
    code: null,
    when: "A client event's name or data is longer than the app allows.",
    advice: 'Send less; the text names the limit.',
  },
  'client-event-rate': {
    code: 4301,
    when: 'A connection sends more client events per second than the app allows. The event is dropped.',
    advice: 'Send fewer, or raise `limits.clientEventsPerSecond` of the app.',
  },
  'client-event-unavailable': {
    code: 4301,
    when: 'A client event is sent while Redis does not answer. The event is dropped.',
    advice: 'Send it again later. Look at `/readyz` of the server.',
  },
  'client-event-not-granted': {
    code: null,
    when: 'A client event is sent to a channel that the connection entered by a grant, and no live grant allows `client-events` there.',
    advice: 'Add the right `client-events` to the pattern in the grants that your backend gives.',
  },
  'not-granted': {
    code: null,
    subscription: { type: 'AuthError', status: 401 },
    when: 'A subscription comes without authorisation, and no grant of the connection covers the channel, or it has not signed in within `channels.authorizationTimeoutSeconds`.',
    advice:
      'Add the channel to the grants that your backend gives, or let the client ask the backend for this channel.',
  },
  'token-invalid': {
    code: null,
    subscription: { type: 'AuthError', status: 401 },
    when: 'A token cannot be accepted; the text says why.',
    advice:
      'Look at the part of the token that the text names. The server shows and logs no token.',
  },
  'signin-invalid': {
    code: null,
    when: 'The authorisation or the `user_data` of a sign-in is not valid, or the connection is signed in as another user.',
    advice: "Compare the text with what the app's backend signed: key, socket id, user data.",
  },
  'connections-per-user': {
    code: null,
    subscription: { type: 'LimitReached', status: 4100 },
    when: 'A connection signs in, or subscribes with a token, as a user who has `limits.connectionsPerUser` connections already. It stays open, not signed in.',
    advice:
      'Close connections of the user that are no longer needed, or raise `limits.connectionsPerUser` of the app.',
  },
  'watchlist-limit': {
    code: 4302,
    when: 'The watchlist of a user who signs in has more than 100 users. The sign-in succeeds, and the first 100 are watched.',
    advice: 'Watch fewer users.',
  },
};
