import { CryptoHasher } from 'bun';
import type { ChannelName } from '../channel-name.ts';
import type { GrantOrigin } from './revocations.ts';

/** What a grant allows in a channel. */
export const RIGHTS = ['subscribe', 'client-events'] as const;
export type Right = (typeof RIGHTS)[number];

/** The channels of one entry of a grant, and what is allowed in them. */
export interface GrantPattern {
  readonly kind: ChannelName['kind'];
  /** The whole name, or its beginning. */
  readonly text: string;
  readonly isBeginning: boolean;
  readonly rights: ReadonlySet<Right>;
}

/** What a connection may do in channels that need authorisation, and until when. Source: identity, §3.1. */
export interface Grant extends GrantOrigin {
  readonly patterns: readonly GrantPattern[];
  /** Milliseconds since 1970; infinite if it lasts as long as its connection. */
  readonly endsAtMs: number;
  readonly by: 'sign-in' | 'token' | 'setting';
  /** Identifies the token that carried it. Tokens are long, and whoever has one can use it. */
  readonly tokenHash?: string | undefined;
}

/** Makes a grant. All have the same fields, whatever their origins have: such objects take the least memory. */
export function newGrant(
  { userId, jti, issuedAtSeconds }: GrantOrigin,
  { patterns, endsAtMs, by, tokenHash }: Omit<Grant, keyof GrantOrigin>,
): Grant {
  return { userId, jti, issuedAtSeconds, patterns, endsAtMs, by, tokenHash };
}

export function hashOfToken(token: string): string {
  return new CryptoHasher('sha256').update(token).digest('base64');
}

/** Whether a grant gives a right in a channel. A pattern covers channels of its own kind only. */
export function covers({ patterns }: Grant, channel: ChannelName, right: Right): boolean {
  return patternCovering(patterns, channel, right) !== undefined;
}

export function patternCovering(
  patterns: readonly GrantPattern[],
  channel: ChannelName,
  right: Right,
): GrantPattern | undefined {
  return patterns.find(
    ({ kind, text, isBeginning, rights }) =>
      kind === channel.kind &&
      rights.has(right) &&
      (isBeginning ? channel.text.startsWith(text) : channel.text === text),
  );
}

/** A pattern as it was given. */
export function nameOf({ text, isBeginning }: GrantPattern): string {
  return isBeginning ? `${text}*` : text;
}
