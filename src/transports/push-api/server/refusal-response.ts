import { PushRefusal } from '../../../push/refusal.ts';
import { lastResponse } from '../../node-http.ts';
import { corsOf } from '../cors.ts';
import { statuses } from '../problems.ts';
import { familyOf, type PushFamily } from '../routes.ts';

export const JSON_TYPE = 'application/json';

/** The body of a refusal. Libraries fail if it is empty or lacks a field. */
export function bodyOf(refusal: PushRefusal): string {
  const error = statuses[refusal.problem].title;
  return `${JSON.stringify({ error, description: refusal.description || error })}\n`;
}

/** The headers of a refusal, without its length. */
export function headersOf(refusal: PushRefusal, family: PushFamily): Record<string, string> {
  const { retryAfterSeconds } = refusal;
  return {
    'content-type': JSON_TYPE,
    ...corsOf(family),
    ...(retryAfterSeconds === undefined
      ? {}
      : { 'retry-after': String(Math.max(1, Math.ceil(retryAfterSeconds))) }),
  };
}

/** A whole HTTP response, for a request that the parser could not read. */
export function rawResponse(refusal: PushRefusal, family: PushFamily): string {
  const { status } = statuses[refusal.problem];
  return lastResponse(status, headersOf(refusal, family), bodyOf(refusal));
}

const ONLY_HTTP_1 = 'Only HTTP/1.1 and HTTP/1.0 are supported';
const BAD_LENGTH = 'The Content-Length header is not valid';

/** The text of the refusal for each error code of the HTTP parser. */
const parserErrors: ReadonlyMap<string, string> = new Map([
  ['HPE_INVALID_METHOD', 'The request does not begin with an HTTP method'],
  ['HPE_INVALID_URL', 'The path of the request has a character that must be escaped'],
  ['HPE_INVALID_VERSION', ONLY_HTTP_1],
  ['HPE_PAUSED_H2_UPGRADE', ONLY_HTTP_1],
  ['HPE_INVALID_HEADER_TOKEN', 'A header of the request is not valid'],
  ['HPE_UNEXPECTED_CONTENT_LENGTH', BAD_LENGTH],
  ['HPE_INVALID_CONTENT_LENGTH', BAD_LENGTH],
  ['HPE_INVALID_TRANSFER_ENCODING', 'The Transfer-Encoding header is not valid'],
  ['HPE_INVALID_CHUNK_SIZE', 'A chunk of the body is not valid'],
  ['HPE_INVALID_EOF_STATE', 'The request is incomplete'],
]);

/** Refuses what the HTTP parser could not read, by its error code. Returns `undefined` if the connection broke. */
export function refusalOfParserError(code: string): PushRefusal | undefined {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new PushRefusal('timeout', 'The request was not complete in time');
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new PushRefusal('head-too-large', 'The head of the request is too large');
  }
  if (!code.startsWith('HPE_')) return undefined;
  return new PushRefusal('bad-request', parserErrors.get(code) ?? 'The request is not valid HTTP');
}

/** Enough for the longest method and the first segment of a path. */
const LINE_START_BYTES = 64;

/** Reads the family from the first line of a packet, if possible. */
export function familyOfPacket(packet: Uint8Array | undefined): PushFamily {
  const start = Buffer.from(packet?.subarray(0, LINE_START_BYTES) ?? []).toString('latin1');
  const [, path] = /^[A-Z]+ (\/[^ ?]*)/.exec(start) ?? [];
  return path === undefined ? 'other' : familyOf(path);
}
