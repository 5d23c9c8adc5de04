import { STATUS_CODES } from 'node:http';
import { PushRefusal } from '../../../push/refusal.ts';
import { corsOf } from '../cors.ts';
import { statuses } from '../problems.ts';
import { familyOf, type PushFamily } from '../routes.ts';

export const JSON_TYPE = 'application/json';

/** The body of every refusal, whoever refuses. Libraries fail where it is empty or lacks a field. */
export function bodyOf(refusal: PushRefusal): string {
  const error = statuses[refusal.problem].title;
  return `${JSON.stringify({ error, description: refusal.description || error })}\n`;
}

/** The headers of a refusal but for its length. */
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

/** A whole answer, for where there is no request to answer: the parser could not read one. */
export function rawAnswer(refusal: PushRefusal, family: PushFamily): string {
  const { status } = statuses[refusal.problem];
  const body = bodyOf(refusal);
  const headers = {
    ...headersOf(refusal, family),
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}

/** Why the HTTP parser gave up, by the code of its error; `undefined` where the connection broke. */
export function refusalOfFault(code: string): PushRefusal | undefined {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new PushRefusal('timeout', 'The request was not complete in time');
    case 'HPE_HEADER_OVERFLOW':
      return new PushRefusal('head-too-large', 'The head of the request is too large');
    case 'HPE_INVALID_METHOD':
      return new PushRefusal('bad-request', 'The request does not begin with a method of HTTP');
    case 'HPE_INVALID_URL':
      return new PushRefusal(
        'bad-request',
        'The path of the request has a character that must be escaped',
      );
    case 'HPE_INVALID_VERSION':
    case 'HPE_PAUSED_H2_UPGRADE':
      return new PushRefusal('bad-request', 'Only HTTP/1.1 and HTTP/1.0 are supported');
    case 'HPE_INVALID_HEADER_TOKEN':
      return new PushRefusal('bad-request', 'A header of the request is not valid');
    case 'HPE_UNEXPECTED_CONTENT_LENGTH':
    case 'HPE_INVALID_CONTENT_LENGTH':
      return new PushRefusal('bad-request', 'The Content-Length header is not valid');
    case 'HPE_INVALID_TRANSFER_ENCODING':
      return new PushRefusal('bad-request', 'The Transfer-Encoding header is not valid');
    case 'HPE_INVALID_CHUNK_SIZE':
      return new PushRefusal('bad-request', 'A chunk of the body is not valid');
    case 'HPE_INVALID_EOF_STATE':
      return new PushRefusal('bad-request', 'The request ends in the middle');
    default:
      return code.startsWith('HPE_')
        ? new PushRefusal('bad-request', 'The request is not valid HTTP')
        : undefined;
  }
}

/** Which family the first line of a packet names, where it can be read. */
export function familyOfPacket(packet: Uint8Array | undefined): PushFamily {
  const start = Buffer.from(packet?.subarray(0, LINE_START_BYTES) ?? []).toString('latin1');
  const [, path] = /^[A-Z]+ (\/[^ ?]*)/.exec(start) ?? [];
  return path === undefined ? 'other' : familyOf(path);
}

/** Enough for the longest method and the first step of a path. */
const LINE_START_BYTES = 64;
