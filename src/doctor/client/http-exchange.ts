import { type Destination, Link, type OpenedLink, type Silence } from './link.ts';

/** One HTTP/1.1 request, as it goes out. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'OPTIONS';
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

/** The head of an answer. */
export interface HttpHead {
  readonly kind: 'head';
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
}

/** What was received instead of an answer. */
export type NoAnswer =
  | { readonly kind: 'not-http'; readonly start: string }
  | { readonly kind: 'nothing'; readonly silence: Silence };

/** The result of a request: an answer, something else, or nothing. */
export type HttpResult = HttpAnswer | NoAnswer;

const USER_AGENT = 'fanfare-doctor';
/** How many bytes of a body are read. */
const BODY_BYTES_MAX = 4 * 1024 * 1024;
/** Statuses of answers without a body. */
const BODILESS: ReadonlySet<number> = new Set([101, 204, 304]);
const LINE_END = '\r\n';
const HEAD_END = `${LINE_END}${LINE_END}`;
/** The first bytes show whether it is HTTP: they must be `HTTP/`. */
const HTTP_START = 'HTTP/';

/** The bytes of a request. */
export function requestBytes({ method, target, host, headers = {}, body }: HttpRequest): string {
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
  const head = await readHead(link, deadlineMs);
  if (head.kind !== 'head') return head;
  const pieces: Buffer[] = [];
  const body = new AnswerBodyReader(link, head);
  // If a body breaks off or does not end, the part that arrived is enough.
  for (let bytes = 0; bytes < BODY_BYTES_MAX && performance.now() < deadlineMs; ) {
    const piece = await body.next(deadlineMs);
    if (typeof piece === 'string') break;
    bytes += piece.length;
    pieces.push(piece);
  }
  const { status, headers } = head;
  return { kind: 'answer', status, headers, body: Buffer.concat(pieces).toString('utf8') };
}

/** Reads the head of an answer. */
export async function readHead(link: Link, deadlineMs: number): Promise<HttpHead | NoAnswer> {
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
  return { kind: 'head', status: Number(status), headers };
}

/** Reads a body piece by piece, as it arrives. */
export class AnswerBodyReader {
  private readonly link: Link;
  private readonly isChunked: boolean;
  /** Bytes of the body, or of the chunk that is being read. */
  private left: number;
  private isFirstChunk = true;
  private isOver: boolean;

  constructor(link: Link, { status, headers }: HttpHead) {
    this.link = link;
    this.isChunked = headers.get('transfer-encoding')?.toLowerCase() === 'chunked';
    const length = headers.get('content-length') ?? '';
    const bytes = /^\d+$/.test(length) ? Number(length) : Number.POSITIVE_INFINITY;
    this.left = this.isChunked ? 0 : bytes;
    this.isOver = BODILESS.has(status) || (!this.isChunked && bytes === 0);
  }

  /**
   * Returns what has arrived since the last call, once there is something; `complete` after the last part; or why
   * nothing more comes.
   */
  async next(deadlineMs: number): Promise<Buffer | 'complete' | Silence> {
    if (this.isOver) return 'complete';
    if (this.isChunked && this.left === 0) {
      const come = await this.nextChunk(deadlineMs);
      if (come !== true) return come;
    }
    const come = await this.link.has((unread) => unread.length > 0, deadlineMs);
    if (come !== true) {
      // Without a length, the end of the connection is the end of the body.
      return come === 'closed' && this.left === Number.POSITIVE_INFINITY ? 'complete' : come;
    }
    const piece = this.link.take(Math.min(this.left, this.link.waiting.length));
    this.left -= piece.length;
    if (this.left === 0 && !this.isChunked) this.isOver = true;
    return Buffer.from(piece);
  }

  /** Reads the head of the next chunk, after the end of the previous one. */
  private async nextChunk(deadlineMs: number): Promise<true | 'complete' | Silence> {
    const before = this.isFirstChunk ? 0 : LINE_END.length;
    const come = await this.link.has((unread) => unread.includes(LINE_END, before), deadlineMs);
    if (come !== true) return come;
    this.link.take(before);
    const line = this.link.take(this.link.waiting.indexOf(LINE_END) + LINE_END.length);
    this.isFirstChunk = false;
    const size = Number.parseInt(line.toString('latin1'), 16);
    if (size > 0) {
      this.left = size;
      return true;
    }
    this.isOver = true;
    // What follows the last chunk belongs to the answer; the next one begins behind it.
    const ended = await this.link.has((unread) => unread.length >= LINE_END.length, deadlineMs);
    if (ended === true) this.link.take(LINE_END.length);
    return 'complete';
  }
}
