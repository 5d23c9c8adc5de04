/** What a further token of an app on an Apple device is for. An app's ordinary token has no kind. */
export const tokenKinds = [
  'liveactivity-start',
  'liveactivity',
  'voip',
  'widgets',
  'controls',
  'complication',
  'location',
  'fileprovider',
  'pushtotalk',
] as const;

export type TokenKind = (typeof tokenKinds)[number];

/** A broadcast channel of live activities: one that keeps no message for devices that are offline, or the latest. */
export const broadcastKinds = ['channel', 'channel-latest'] as const;

export type BroadcastKind = (typeof broadcastKinds)[number];

/** What a device of Apple is, if its token is not the ordinary one of an app. */
export type DeviceKind = TokenKind | BroadcastKind;

export const deviceKinds = [...tokenKinds, ...broadcastKinds] as const;

/** The id that Apple gives a channel. Sent as a header field. */
export const CHANNEL_ID = /^[A-Za-z0-9+/=_-]{1,200}$/;

export function isChannel(kind: DeviceKind | undefined): kind is BroadcastKind {
  return kind === 'channel' || kind === 'channel-latest';
}

/** Whether a publish for tokens of one kind reaches a device: a channel stands for many tokens of activities. */
export function reaches(wanted: TokenKind | undefined, kind: DeviceKind | undefined): boolean {
  return kind === wanted || (wanted === 'liveactivity' && isChannel(kind));
}

export function isTokenKind(value: unknown): value is TokenKind {
  return (tokenKinds as readonly unknown[]).includes(value);
}

/** The limit of a user's further tokens, and of those that belong to one ordinary token. */
export const FURTHER_TOKENS_MAX = 100;

/**
 * How long the token of a live activity is kept after its registration. An activity ends after 12 hours at most.
 * Source: Apple, ActivityKit, "Displaying live data with Live Activities".
 */
export const ACTIVITY_TOKEN_KEPT_MS = 24 * 60 * 60 * 1000;

/**
 * The stored form of a further token, or of the id of a channel. The kind in front keeps a server of an earlier release, which knows no kinds, from
 * sending alerts to it: what it reads is no token of Apple's.
 */
export function storedToken(kind: DeviceKind, token: string): string {
  return `${kind}:${token}`;
}

/** The token as Apple knows it, from its stored form. */
export function bareToken(token: string): string {
  return token.slice(token.indexOf(':') + 1);
}
