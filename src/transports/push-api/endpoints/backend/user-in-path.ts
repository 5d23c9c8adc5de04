import { readUserId, USER_ID_BYTES_MAX } from '../../../../push/model/user-id.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import { decodeLeniently } from '../../../request-target.ts';
import type { PushCall } from '../../call.ts';

/** Libraries that write a space in a path as `+`, and a plus sign as `%2B`. Source: push protocol, §2.4. */
const SPACE_IS_PLUS = /-(?:ruby|php|java)\b/i;

export function refuseUserId(text: string): PushRefusal | undefined {
  if (text === '') return new PushRefusal('not-found', 'The path has no user id');
  // Recorded text. Source: push protocol, §2.4.
  if (Buffer.byteLength(text) > USER_ID_BYTES_MAX) {
    const why = `'User id' is too long, max length is ${USER_ID_BYTES_MAX}`;
    return new PushRefusal('bad-request', why);
  }
  const read = readUserId(text);
  return read.ok ? undefined : new PushRefusal('bad-request', `'User id' ${read.why}`);
}

/** Reads the user id that follows a part of the path, with plus signs as the library of the caller writes them. */
export function userIdIn(call: PushCall, before: '/users/' | '/user-preferences/'): string {
  const { path, params } = call;
  const isSpaced = path.includes('+') && SPACE_IS_PLUS.test(call.header('x-pusher-library') ?? '');
  if (!isSpaced) return params.rest;
  // From the raw path: an escaped plus sign is a plus sign.
  const start = path.indexOf(before) + before.length;
  return decodeLeniently(path.slice(start).replaceAll('+', ' '));
}
