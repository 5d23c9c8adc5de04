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
 * The stored form of a further token. The kind in front keeps a server of an earlier release, which knows no kinds, from
 * sending alerts to it: what it reads is no token of Apple's.
 */
export function furtherToken(kind: TokenKind, hex: string): string {
  return `${kind}:${hex}`;
}

/** The token as Apple knows it, from its stored form. */
export function hexOfToken(token: string): string {
  return token.slice(token.indexOf(':') + 1);
}
