/** An answer before it is written as HTTP. */
export interface AdminAnswer {
  readonly status: number;
  readonly contentType: string;
  /** A stream is read as fast as the client reads. */
  readonly body: string | Uint8Array | ReadableStream<Uint8Array>;
  readonly headers?: Readonly<Record<string, HeaderValue>>;
}

/** A header, or several of the same name. */
type HeaderValue = string | string[];

export const TEXT = 'text/plain; charset=utf-8';
export const JSON_TYPE = 'application/json';

/** Nothing of this listener may be cached, framed, embedded by other sites, or interpreted as another type. */
const HEADERS = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** The headers of an answer. */
export function headersOf({
  contentType,
  body,
  headers,
}: AdminAnswer): Record<string, HeaderValue> {
  return {
    ...HEADERS,
    ...headers,
    'content-type': contentType,
    ...(body instanceof ReadableStream
      ? // nginx would hold it back.
        { 'x-accel-buffering': 'no' }
      : { 'content-length': String(Buffer.byteLength(body)) }),
  };
}

export function textAnswer(status: number, body: string): AdminAnswer {
  return { status, contentType: TEXT, body };
}

/** The answer to a refused request. `error` is for the client. */
export function refuse(
  status: number,
  error: string,
  headers: Readonly<Record<string, string>> = {},
): AdminAnswer & { readonly body: string } {
  return { status, contentType: JSON_TYPE, body: `${JSON.stringify({ error })}\n`, headers };
}
