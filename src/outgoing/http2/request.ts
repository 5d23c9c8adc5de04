import type { Sender } from '../../runtime/sender-queue.ts';
import type { HeaderField } from './header-field.ts';

/** A request to an origin. */
export interface Http2Request {
  /** With what follows it; printable ASCII without spaces. */
  readonly path: string;
  /** Beside method, scheme, authority, path and the length of the body. Prepared once for many requests. */
  readonly fields: readonly HeaderField[];
  readonly body: Uint8Array;
  /** Needed where several instances share the origin, or some devices are newcomers. */
  readonly sender?: Sender;
}

/** The header fields of an answer: names in lower case and values in turn. */
export type AnswerFields = readonly string[];

/** The first value of a header field. `name` is in lower case. */
export function fieldOf(fields: AnswerFields, name: string): string | undefined {
  for (let index = 0; index < fields.length; index += 2) {
    if (fields[index] === name) return fields[index + 1];
  }
  return undefined;
}

/** Why a request was certainly not processed. */
export type UnprocessedWhy =
  /** None of the origin's addresses could be connected to. */
  | 'unreachable'
  /** The addresses may not be used: the one who looks them up says so. */
  | 'not-allowed'
  /** The peer speaks no HTTP/2. */
  | 'no-http2'
  /** The peer turned it away, again and again. */
  | 'turned-away'
  /** It waited for its turn until its time was over. */
  | 'not-in-time'
  /** Too many wait. */
  | 'too-many-waiting'
  /** It is larger than a request can be. */
  | 'too-large'
  /** The origin was closed. */
  | 'closed';

/** Why nobody knows whether a request was processed. */
export type UnknownWhy =
  /** No answer in time, while other requests were answered. */
  | 'no-answer'
  /** No answer in time, to any request. */
  | 'silence'
  /** The peer gave this request up. */
  | 'reset'
  /** The connection ended. */
  | 'connection-lost'
  /** The peer said something that is no HTTP/2. */
  | 'protocol-error'
  /** The origin was closed. */
  | 'closed';

/** What became of a request. `detail` is for people: a code or a few words, never anything of the request. */
export type Http2Result =
  | {
      readonly result: 'answered';
      readonly status: number;
      readonly fields: AnswerFields;
      /** Its first bytes, as many as the origin keeps of one. */
      readonly body: Buffer;
    }
  | {
      readonly result: 'unprocessed';
      readonly why: UnprocessedWhy;
      readonly detail: string | undefined;
    }
  | { readonly result: 'unknown'; readonly why: UnknownWhy; readonly detail: string | undefined };
