/** An answer, before it is one of HTTP. */
export interface AdminAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export const TEXT = 'text/plain; charset=utf-8';
export const JSON_TYPE = 'application/json';

/** Nothing of this listener may be kept by a browser or a proxy, shown in a frame, or taken for something else. */
const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

export function respond(
  { status, contentType, body }: AdminAnswer,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(body, {
    status,
    headers: { ...HEADERS, ...headers, 'content-type': contentType },
  });
}

/** Refuses a request. `error` is for whoever sent it. */
export function refuse(
  status: number,
  error: string,
  headers?: Readonly<Record<string, string>>,
): Response {
  return respond(
    { status, contentType: JSON_TYPE, body: `${JSON.stringify({ error })}\n` },
    headers,
  );
}
