import { isInterest } from '../../../../push/model/interest.ts';
import { PushRefusal } from '../../../../push/refusal.ts';

/** Interests of one page, also where none is asked for. Source: push protocol, §3.6. */
const PAGE_LENGTH_MAX = 100;

/** Which part of a device's interests is asked for. */
export interface InterestPage {
  /** The name that the page before ended with; empty: from the first. */
  readonly after: string;
  readonly most: number;
}

/** Reads which page is asked for. One that is too long is cut: the web SDK lets its caller name any length. */
export function readInterestPage(query: URLSearchParams): InterestPage | PushRefusal {
  const limit = query.get('limit');
  // Digits only: what else a number can be written as has no place here.
  if (limit !== null && !/^0*[1-9][0-9]*$/.test(limit)) {
    return new PushRefusal('bad-device-request', '`limit` given is not valid');
  }
  const after = readCursor(query.get('cursor') ?? '');
  if (after === undefined) {
    return new PushRefusal('bad-device-request', '`cursor` given is not valid');
  }
  const most = limit === null ? PAGE_LENGTH_MAX : Math.min(Number(limit), PAGE_LENGTH_MAX);
  return { after, most };
}

/** The cursor of the page that follows one that ends with this name. SDKs hand it back as it is. */
export function cursorAfter(name: string): string {
  return Buffer.from(name, 'latin1').toString('base64url');
}

/** `undefined` for what this server never gave. Some callers send an empty one for the first page. */
function readCursor(cursor: string): string | undefined {
  const name = Buffer.from(cursor, 'base64url').toString('latin1');
  // Encoded again, since decoding skips what is no base64.
  const isOurs = (name === '' || isInterest(name)) && cursorAfter(name) === cursor;
  return isOurs ? name : undefined;
}
