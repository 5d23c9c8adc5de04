import { type Destination, Link, type OpenedLink, type Silence } from './link.ts';

/** One HTTP/1.1 request, as it goes out. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  /** Path and query. */
  readonly target: string;
  readonly host: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface HttpAnswer {
  readonly kind: 'answer';
  readonly status: number;
  /** By lower-case name; of repeated ones the last. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** What came back for a request: an answer, something else, or nothing. */
export type HttpResult =
  | HttpAnswer
  | { readonly kind: 'not-http'; readonly start: string }
  | { readonly kind: 'nothing'; readonly silence: Silence };

const USER_AGENT = 'fanfare-doctor';
const HEAD_END = '\r\n\r\n';
/** The first bytes tell whether it is HTTP; `HTTP/` is what they must be. */
const HTTP_START = 'HTTP/';

/** The bytes of a request. */
function requestBytes({ method, target, host, headers = {}, body }: HttpRequest): string {
  const lines = Object.entries({
    Host: host,
    'User-Agent': USER_AGENT,
    Accept: '*/*',
    ...(body === undefined
      ? {}
      : {
          'Content-Type': 'application/json',
          'Content-Length': String(Buffer.byteLength(body)),
        }),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`;
}

/** Sends one request on a link and reads its answer; the link can be used again unless it was closed. */
export async function exchange(
  link: Link,
  request: HttpRequest,
  timeoutMs: number,
): Promise<HttpResult> {
  link.write(requestBytes(request));
  return await readAnswer(link, performance.now() + timeoutMs);
}

/** What comes back for a request if no connection can be made. */
export function unopened({ code }: Extract<OpenedLink, { ok: false }>) {
  return { kind: 'nothing', silence: code === 'TIMEOUT' ? 'timeout' : 'reset' } as const;
}

/** Sends one request on a connection of its own. */
export async function ask(
  to: Destination,
  request: Omit<HttpRequest, 'host'>,
  timeoutMs: number,
): Promise<HttpResult> {
  const opened = await Link.open(to, 'all', timeoutMs);
  if (!opened.ok) return unopened(opened);
  using link = opened.link;
  return await exchange(link, { ...request, host: to.endpoint.host }, timeoutMs);
}

/** Reads one answer. Of an answer to a WebSocket handshake (101) only the head is taken. */
async function readAnswer(link: Link, deadlineMs: number): Promise<HttpResult> {
  const foreign = (unread: Buffer) =>
    unread.length >= HTTP_START.length && !unread.toString('latin1').startsWith(HTTP_START);
  const come = await link.has((unread) => unread.includes(HEAD_END) || foreign(unread), deadlineMs);
  if (foreign(link.waiting)) {
    return { kind: 'not-http', start: link.waiting.toString('latin1', 0, 80) };
  }
  if (come !== true) return { kind: 'nothing', silence: come };

  const head = link.take(link.waiting.indexOf(HEAD_END) + HEAD_END.length).toString('latin1');
  const [start = '', ...lines] = head.trimEnd().split('\r\n');
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const [, status = ''] = start.split(' ');
  const bodiless = status === '101' || status === '204' || status === '304';
  const body = bodiless ? '' : await readBody(link, headers, deadlineMs);
  return { kind: 'answer', status: Number(status), headers, body };
}

/** Reads a body as far as it comes: of one that breaks off, what is there tells enough. */
async function readBody(
  link: Link,
  headers: ReadonlyMap<string, string>,
  deadlineMs: number,
): Promise<string> {
  if (headers.get('transfer-encoding')?.toLowerCase() === 'chunked') {
    return await readChunks(link, deadlineMs);
  }
  const length = headers.get('content-length');
  const bytes = length === undefined ? Number.POSITIVE_INFINITY : Number(length);
  await link.has((unread) => unread.length >= bytes, deadlineMs);
  return link.take(Math.min(bytes, link.waiting.length)).toString('utf8');
}

async function readChunks(link: Link, deadlineMs: number): Promise<string> {
  const chunks: Buffer[] = [];
  for (;;) {
    if ((await link.has((unread) => unread.includes('\r\n'), deadlineMs)) !== true) break;
    const line = link.take(link.waiting.indexOf('\r\n') + 2).toString('latin1');
    const size = Number.parseInt(line, 16);
    if (Number.isNaN(size)) break;
    if ((await link.has((unread) => unread.length >= size + 2, deadlineMs)) !== true) break;
    chunks.push(Buffer.from(link.take(size)));
    link.take(2);
    if (size === 0) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}
