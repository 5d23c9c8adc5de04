import { isInterest } from '../../../../push/model/interest.ts';
import { PushRefusal } from '../../../../push/refusal.ts';

/** The length of a page, unless the request asks for less. Source: push protocol, §3.6. */
export const PAGE_LENGTH_MAX = 100;

/** A page of a device's interests. */
export interface InterestPage {
  /** The last interest of the previous page; empty for the first page. */
  readonly after: string;
  readonly limit: number;
}

/** Reads which page is asked for. Longer pages are cut: the web SDK lets its caller ask for any length. */
export function readInterestPage(query: URLSearchParams): InterestPage | PushRefusal {
  const given = query.get('limit');
  // Digits only: `Number` would also read 1e3 and 0x10.
  if (given !== null && !/^0*[1-9][0-9]*$/.test(given)) {
    return new PushRefusal('bad-device-request', '`limit` given is not valid');
  }
  const after = readCursor(query.get('cursor') ?? '');
  if (after === undefined) {
    return new PushRefusal('bad-device-request', '`cursor` given is not valid');
  }
  const limit = given === null ? PAGE_LENGTH_MAX : Math.min(Number(given), PAGE_LENGTH_MAX);
  return { after, limit };
}

/** The cursor of the page after this interest. SDKs send it back unchanged. */
export function cursorAfter(name: string): string {
  return Buffer.from(name, 'latin1').toString('base64url');
}

/** `undefined` if this server cannot have made the cursor. Some clients send an empty one for the first page. */
function readCursor(cursor: string): string | undefined {
  const name = Buffer.from(cursor, 'base64url').toString('latin1');
  // Compared with its encoding, since the decoder skips invalid characters.
  const isOurs = (name === '' || isInterest(name)) && cursorAfter(name) === cursor;
  return isOurs ? name : undefined;
}
