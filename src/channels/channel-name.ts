import type { Branded } from '../runtime/branded.ts';

/**
 * The kind of a channel, by its name. Encrypted channels are private channels whose payload this server cannot read.
 */
export type ChannelKind = 'public' | 'private' | 'encrypted' | 'presence' | 'server-to-user';

/** A validated channel name, and what follows from its prefix. */
export interface ChannelName {
  readonly kind: ChannelKind;
  readonly text: ChannelText;
  /** Whether new subscribers get the last event. */
  readonly cached: boolean;
}

/** The text of a validated channel name. It needs no escaping in JSON. */
export type ChannelText = Branded<'ChannelText'>;

export type ParsedChannelName =
  | { readonly ok: true; readonly channel: ChannelName }
  | { readonly ok: false; readonly why: 'empty' | 'too-long' | 'bad-character' };

/** Characters, including the prefix. Source: Channels protocol, §5.1 (the libraries' limit). */
const CHANNEL_NAME_LENGTH_MAX = 200;

const CHANNEL_NAME = /^[\w\-=@,.;]+$/;

/** The only prefix that may begin with `#`. Source: Channels protocol, §5.1. */
const SERVER_TO_USER = '#server-to-user-';

// The longest prefix comes first: every encrypted name also starts with "private-".
const prefixes = [
  ['private-encrypted-', 'encrypted'],
  ['private-', 'private'],
  ['presence-', 'presence'],
] as const;

/** Reads a channel name out of untrusted input. */
export function parseChannelName(text: string): ParsedChannelName {
  if (text.length === 0) return { ok: false, why: 'empty' };
  if (text.length > CHANNEL_NAME_LENGTH_MAX) return { ok: false, why: 'too-long' };

  const reserved = text.startsWith(SERVER_TO_USER);
  if (!CHANNEL_NAME.test(reserved ? text.slice(SERVER_TO_USER.length) : text)) {
    return { ok: false, why: 'bad-character' };
  }
  const name = text as ChannelText;
  if (reserved) return { ok: true, channel: { kind: 'server-to-user', text: name, cached: false } };

  const [prefix, kind] = prefixes.find(([start]) => text.startsWith(start)) ?? ['', 'public'];
  return {
    ok: true,
    channel: { kind, text: name, cached: text.startsWith('cache-', prefix.length) },
  };
}

/** Describes what is wrong with a channel name. */
export function describeBadChannelName(
  text: string,
  why: Exclude<ParsedChannelName, { ok: true }>['why'],
): string {
  switch (why) {
    case 'empty':
      return 'Invalid channel name: it is empty';
    case 'too-long':
      return `Invalid channel name: ${text.length} characters, at most ${CHANNEL_NAME_LENGTH_MAX} are allowed`;
    case 'bad-character':
      return `Invalid channel name ${JSON.stringify(text)}: only letters, digits and the characters _ - = @ , . ; are allowed`;
    default:
      return why satisfies never;
  }
}

/** The channel through which a backend reaches one user. */
export function userChannel(userId: string): string {
  return `${SERVER_TO_USER}${userId}`;
}

/** Whether a text can be the id of a user who signs in: channel names have the same characters. */
export function isUserId(id: string): boolean {
  return id !== '' && parseChannelName(userChannel(id)).ok;
}

/** Whether subscribing needs a signature of the app's backend. */
export function needsAuthorisation(channel: ChannelName): boolean {
  return channel.kind === 'private' || channel.kind === 'encrypted' || channel.kind === 'presence';
}
