import type { Cause } from '../../../channels/event.ts';
import type { Ask } from '../../../channels/live/ask.ts';
import type { Member, Publication } from '../../../channels/ports.ts';
import type { SocketId } from '../../../channels/socket-id.ts';
import type { Reply } from '../link/reply.ts';

/** A message of the authority about a channel. */
export type ChannelMessage =
  | {
      readonly kind: 'event';
      readonly frame: string;
      readonly except: SocketId | undefined;
      readonly cause: Cause | undefined;
      /** The watched record whose receivers are counted. */
      readonly trace: string | undefined;
      readonly ask: Ask | undefined;
    }
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'added'; readonly member: Member; readonly newcomer: SocketId | undefined }
  | { readonly kind: 'removed'; readonly userId: string };

export interface Numbered {
  /** 0 if it has no number. */
  readonly number: number;
  readonly kind: string;
  readonly rest: string;
}

/** Splits a published message into its number, the letter of its kind and the rest. */
export function readNumbered(payload: string): Numbered {
  let end = 0;
  while (payload.charCodeAt(end) >= 0x30 && payload.charCodeAt(end) <= 0x39) end++;
  return {
    number: Number(payload.slice(0, end)),
    kind: payload.charAt(end),
    rest: payload.slice(end + 1),
  };
}

/** Decodes a message of a channel; `undefined` for a kind that this version does not know. */
export function readChannelMessage({ kind, rest }: Numbered): ChannelMessage | undefined {
  switch (kind) {
    case 'e': {
      const [except, caused, frame] = splitTwice(rest);
      // Servers of the previous release read the first two fields.
      const [cause = '', trace = '', ask] = caused.split(' ', 3);
      return {
        kind: 'event',
        frame,
        except: except === '' ? undefined : (except as SocketId),
        cause: cause === '' ? undefined : (cause as Cause),
        trace: trace === '' ? undefined : trace,
        ask: ask === undefined ? undefined : readAsk(ask),
      };
    }
    case '#':
      return { kind: 'count', count: Number(rest) };
    case '+': {
      const [newcomer, userId, info] = splitTwice(rest);
      return {
        kind: 'added',
        member: memberOf(userId, info),
        newcomer: newcomer === '' ? undefined : (newcomer as SocketId),
      };
    }
    case '-':
      return { kind: 'removed', userId: readUserId(rest) };
    default:
      return undefined;
  }
}

/** Encodes an event as the authority publishes it, without its number. */
export function eventText(
  frame: string,
  { except, cause, trace, ask }: Pick<Publication, 'except' | 'cause' | 'trace' | 'ask'>,
): string {
  let caused: string = cause ?? '';
  if (ask !== undefined) caused += ` ${trace ?? ''} ${askText(ask)}`;
  else if (trace !== undefined) caused += ` ${trace}`;
  return `e${except ?? ''}\n${caused}\n${frame}`;
}

/** Contains no spaces or line feeds. */
function askText(ask: Ask): string {
  return Buffer.from(JSON.stringify(ask)).toString('base64url');
}

/** Only servers of this cluster write it. */
function readAsk(text: string): Ask {
  return JSON.parse(Buffer.from(text, 'base64url').toString());
}

/**
 * Decodes members from the reply to `HGETALL`: by user id, the number, a line feed and the info. Returns them in the
 * order of joining.
 */
export function readRoster(reply: Reply | undefined): Map<string, Member> {
  const rows = (reply ?? []) as readonly string[];
  const members: (readonly [number, Member])[] = [];
  for (let n = 0; n + 1 < rows.length; n += 2) {
    const value = rows[n + 1] ?? '';
    const at = value.indexOf('\n');
    members.push([Number(value.slice(0, at)), memberOf(rows[n] ?? '', value.slice(at + 1))]);
  }
  members.sort(([one], [other]) => one - other);
  return new Map(members.map(([, member]) => [member.userId, member]));
}

/** Encodes a user id without line feeds. */
export function userIdText(userId: string): string {
  return userId.replace(/[%\n]/g, encodeURIComponent);
}

export function readUserId(text: string): string {
  return text.replace(/%25|%0A/g, decodeURIComponent);
}

function memberOf(userIdText: string, info: string): Member {
  return { userId: readUserId(userIdText), userInfo: info === '' ? undefined : info };
}

function splitTwice(text: string): readonly [string, string, string] {
  const first = text.indexOf('\n');
  const second = text.indexOf('\n', first + 1);
  return [text.slice(0, first), text.slice(first + 1, second), text.slice(second + 1)];
}
