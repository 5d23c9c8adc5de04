import type { Sender } from '../../runtime/fairness/sender-queue.ts';
import type { ProxyReason } from '../proxy/proxy-fault.ts';
import type { HeaderField } from './hpack/header-field.ts';

/** A request to an origin. */
export interface Http2Request {
  /** By default POST. */
  readonly method?: 'DELETE' | undefined;
  /** Path and query; printable ASCII without spaces. */
  readonly path: string;
  /** Without method, scheme, authority, path and content-length. Prepared once for many requests. */
  readonly fields: readonly HeaderField[];
  readonly body: Uint8Array;
  /** For fairness between senders; by default all requests of a client are of one trusted sender. */
  readonly sender?: Sender;
}

/** The header fields of an answer: names in lower case, each followed by its value. */
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
  /** No address of the origin could be connected to. */
  | 'unreachable'
  | ProxyReason
  /** The address lookup refused the host. */
  | 'not-allowed'
  /** The peer speaks no HTTP/2. */
  | 'no-http2'
  /** The peer refused it several times. */
  | 'turned-away'
  /** The request timed out before it could be sent. */
  | 'not-in-time'
  /** The queue is full. */
  | 'too-many-waiting'
  /** The header of the request is larger than a frame. */
  | 'too-large'
  /** The client was closed. */
  | 'closed';

/** Why it is unknown whether a request was processed. */
export type UnknownWhy =
  /** No answer in time, while other requests were answered. */
  | 'no-answer'
  /** No answer in time, to any request. */
  | 'silence'
  /** The peer reset the stream. */
  | 'reset'
  /** The connection ended. */
  | 'connection-lost'
  /** The peer broke the protocol. */
  | 'protocol-error'
  /** The client was closed. */
  | 'closed';

/** The result of a request. `detail` is for people: a code or a few words, never a part of the request. */
export type Http2Result =
  | {
      readonly result: 'answered';
      readonly status: number;
      readonly fields: AnswerFields;
      /** The first `ANSWER_BYTES_MAX` bytes of the body. */
      readonly body: Buffer;
    }
  | {
      readonly result: 'unprocessed';
      readonly why: UnprocessedWhy;
      readonly detail: string | undefined;
    }
  | { readonly result: 'unknown'; readonly why: UnknownWhy; readonly detail: string | undefined };
