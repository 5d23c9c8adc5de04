import type { Cause } from '../../../channels/event.ts';
import type { Ask } from '../../../channels/live/ask.ts';
import { readAsk } from '../../../channels/live/read-ask.ts';
import type { Member, Publication } from '../../../channels/ports.ts';
import type { SocketId } from '../../../channels/socket-id.ts';
import { Unreadable } from '../../../runtime/unreadable.ts';
import type { NumberedMember } from '../../members-page.ts';
import { type Reply, textsOf } from '../link/reply.ts';

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
  | { readonly kind: 'count'; readonly count: number; readonly users: number | undefined }
  | { readonly kind: 'added'; readonly member: Member; readonly newcomer: SocketId | undefined }
  | { readonly kind: 'removed'; readonly userId: string };

export interface NumberedText {
  readonly number: number;
  readonly kind: string;
  readonly rest: string;
  /** How many loops of this process get it; 1 by default. */
  readonly loops?: number;
}

/**
 * The limit of numbers: 2100-01-01 in microseconds. Numbers begin with the time. After a larger one, all messages of the
 * topic would look old.
 */
const NUMBER_MAX = 4_102_444_800_000_000;

/** Splits a published message into its number, the letter of its kind and the rest. Throws `Unreadable`. */
export function readNumbered(payload: string, loops = 1): NumberedText {
  let end = 0;
  while (payload.charCodeAt(end) >= 0x30 && payload.charCodeAt(end) <= 0x39) end++;
  const number = Number(payload.slice(0, end));
  if (end === 0 || number > NUMBER_MAX) throw new Unreadable('It has no valid number');
  return { number, kind: payload.charAt(end), rest: payload.slice(end + 1), loops };
}

/** Decodes a message of a channel. Throws `Unreadable`, also for a kind that this version does not know. */
export function readChannelMessage({ kind, rest, loops = 1 }: NumberedText): ChannelMessage {
  switch (kind) {
    case 'e': {
      const [except, caused, frame] = splitTwice(rest);
      // Servers of the previous release read the first two fields.
      const [cause = '', trace = '', asked] = caused.split(' ', 3);
      const ask = asked === undefined ? undefined : askOf(asked, loops);
      if (!isFrame(frame)) throw new Unreadable('It has no whole frame');
      return {
        kind: 'event',
        frame,
        except: except === '' ? undefined : (except as SocketId),
        cause: isCause(cause) ? cause : undefined,
        trace: trace === '' ? undefined : trace,
        ask,
      };
    }
    case '#':
      return readCount(rest);
    case '+': {
      const [newcomer, userId, info] = splitTwice(rest);
      if (info !== '' && !isJson(info)) throw new Unreadable('It has no whole member');
      return {
        kind: 'added',
        member: memberOf(userId, info),
        newcomer: newcomer === '' ? undefined : (newcomer as SocketId),
      };
    }
    case '-':
      return { kind: 'removed', userId: readUserId(rest) };
    default:
      throw new Unreadable(`Its kind is not known: ${JSON.stringify(kind)}`);
  }
}

/** The subscriptions, and behind a comma the users of a large channel. */
function readCount(text: string): ChannelMessage {
  const [, count, users] = /^(\d{1,15})(?:,(\d{1,15}))?$/.exec(text) ?? [];
  if (count === undefined) throw new Unreadable('It has no count');
  return {
    kind: 'count',
    count: Number(count),
    users: users === undefined ? undefined : Number(users),
  };
}

function askOf(text: string, loops: number): Ask {
  const ask = readAsk(fromBase64(text));
  return loops === 1 ? ask : { ...ask, loops };
}

function isCause(text: string): text is Cause {
  return text === 'backend' || text === 'clients';
}

/** Whether this is the text of an object to its end. Cheap, because every event passes here. */
function isFrame(text: string): boolean {
  return text.startsWith('{') && text.endsWith('}');
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
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

function fromBase64(text: string): string {
  return Buffer.from(text, 'base64url').toString();
}

/** Decodes members as `readMembers` does. */
export function readRoster(reply: Reply | undefined): Map<string, Member> {
  return new Map(readMembers(reply).map(([, member]) => [member.userId, member]));
}

/**
 * Decodes members from the reply to `HGETALL`: by user id, the number, a line feed and the info. Returns them in the
 * order of joining.
 */
export function readMembers(reply: Reply | undefined): readonly NumberedMember[] {
  const rows = textsOf(reply);
  const members: NumberedMember[] = [];
  for (let n = 0; n + 1 < rows.length; n += 2) {
    const value = rows[n + 1] ?? '';
    const at = value.indexOf('\n');
    members.push([Number(value.slice(0, at)), memberOf(rows[n] ?? '', value.slice(at + 1))]);
  }
  return members.sort(([one], [other]) => one - other);
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
  if (first === -1 || second === -1) throw new Unreadable('It has too few lines');
  return [text.slice(0, first), text.slice(first + 1, second), text.slice(second + 1)];
}
