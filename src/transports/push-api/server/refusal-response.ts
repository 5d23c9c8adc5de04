import { PushRefusal } from '../../../push/refusal.ts';
import { lastResponse } from '../../node-http.ts';
import { corsOf } from '../cors.ts';
import { statuses } from '../problems.ts';
import { familyOf, type PushFamily } from '../routes.ts';
import type { HttpFault } from './http/request-head.ts';

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

/** The text of the refusal of each fault. */
const faults: Readonly<Record<Exclude<HttpFault, 'head-too-large'>, string>> = {
  method: 'The request does not begin with an HTTP method',
  target: 'The path of the request has a character that must be escaped',
  version: 'Only HTTP/1.1 and HTTP/1.0 are supported',
  request: 'The request is not valid HTTP',
  tunnel: 'CONNECT is not supported: this is no proxy',
  header: 'A header of the request is not valid',
  length: 'The Content-Length header is not valid',
  encoding: 'The Transfer-Encoding header is not valid',
  chunk: 'A chunk of the body is not valid',
  incomplete: 'The request is incomplete',
};

/** Refuses what is no request, or not complete in time. */
export function refusalOfFault(fault: HttpFault | 'timeout'): PushRefusal {
  switch (fault) {
    case 'timeout':
      return new PushRefusal('timeout', 'The request was not complete in time');
    case 'head-too-large':
      return new PushRefusal('head-too-large', 'The head of the request is too large');
    default:
      return new PushRefusal('bad-request', faults[fault]);
  }
}

/** Enough for the longest method and the first segment of a path. */
const LINE_START_BYTES = 64;

/** Reads the family from the first line of a request, if possible. */
export function familyOfBytes(bytes: Buffer): PushFamily {
  const start = bytes.toString('latin1', 0, Math.min(bytes.length, LINE_START_BYTES));
  const [, path] = /^[A-Z]+ (\/[^ ?]*)/.exec(start) ?? [];
  return path === undefined ? 'other' : familyOf(path);
}
