/** An answer, before it is one of HTTP. */
export interface AdminAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const TEXT = 'text/plain; charset=utf-8';
export const JSON_TYPE = 'application/json';

/** Nothing of this listener may be kept by a browser or a proxy, shown in a frame, or taken for something else. */
const HEADERS = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** Everything that stands before the body of an answer. */
export function headersOf({ contentType, body, headers }: AdminAnswer): Record<string, string> {
  return {
    ...HEADERS,
    ...headers,
    'content-type': contentType,
    'content-length': String(Buffer.byteLength(body)),
  };
}

export function textAnswer(status: number, body: string): AdminAnswer {
  return { status, contentType: TEXT, body };
}

/** Refuses a request. `error` is for its sender. */
export function refuse(
  status: number,
  error: string,
  headers: Readonly<Record<string, string>> = {},
): AdminAnswer {
  return { status, contentType: JSON_TYPE, body: `${JSON.stringify({ error })}\n`, headers };
}
