import { randomInt } from 'node:crypto';
import { isPing, pong, readServerMessage, type ServerMessage } from './client-messages.ts';
import {
  AnswerBodyReader,
  ask,
  type HttpAnswer,
  type HttpHead,
  type HttpRequest,
  type HttpResult,
  type NoAnswer,
  readHead,
  requestBytes,
  unopened,
} from './http-exchange.ts';
import { type Ending, Inbox, NO_CLOSE_FRAME, type ReceivedMessage } from './inbox.ts';
import { type Destination, Link } from './link.ts';

/** The transports of pusher-js for networks without WebSockets. */
export type FallbackTransportName = 'xhr_streaming' | 'xhr_polling';

export interface SessionOptions {
  readonly to: Destination;
  readonly key: string;
  readonly timeoutMs: number;
}

/** Digits of a session id. Source: HTTP transports, §2. */
const DIGITS = '0123456789abcdefghijklmnopqrstuv';
const CONTENT = { 'Content-Type': 'application/json' };
/** A server that writes a longer line than this is not listened to. Bytes. */
const LINE_BYTES_MAX = 4 * 1024 * 1024;
/** Receive requests of one session: far more than a server in order needs. */
const RECEIVES_MAX = 1000;
/** How many bytes of an answer without a line are kept, for the report. */
const START_BYTES = 1000;

/** The address of a new session, without the last segment. Source: HTTP transports, §2. */
function newSessionPath({ endpoint: { prefix } }: Destination, key: string): string {
  const id = Array.from({ length: 8 }, () => DIGITS[randomInt(DIGITS.length)]).join('');
  return `${prefix}/pusher/app/${encodeURIComponent(key)}/${randomInt(1000)}/${id}`;
}

/** Sends the request that a browser sends before each request of a page. */
export async function askPreflight({ to, key, timeoutMs }: SessionOptions): Promise<HttpResult> {
  const target = `${newSessionPath(to, key)}/xhr_streaming?${receiveQuery(1)}`;
  const headers = {
    Origin: 'https://fanfare-doctor.invalid',
    'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': 'content-type',
  };
  return await ask(to, { method: 'OPTIONS', target, headers }, timeoutMs);
}

function receiveQuery(number: number): string {
  return `protocol=7&client=fanfare-doctor&version=1.0.0&t=${Date.now()}&n=${number}`;
}

/** A connection over HTTP requests. It receives until it is closed, as every client does. */
export class FallbackSession implements Disposable {
  /** An answer without frames, or what was received instead of an answer. */
  refusal: HttpAnswer | NoAnswer | undefined;
  /** The answer to the last request that sent something. */
  sent: HttpResult | undefined;
  private readonly inbox = new Inbox();
  private readonly options: SessionOptions;
  private readonly transport: FallbackTransportName;
  private readonly path: string;
  private readonly links = new DisposableStack();
  private requests = 0;
  private isDisposed = false;

  private constructor(transport: FallbackTransportName, options: SessionOptions) {
    this.transport = transport;
    this.options = options;
    this.path = newSessionPath(options.to, options.key);
  }

  /** Begins to receive. */
  static begin(transport: FallbackTransportName, options: SessionOptions): FallbackSession {
    const session = new FallbackSession(transport, options);
    void session.receive();
    return session;
  }

  get ending(): Ending | undefined {
    return this.inbox.ending;
  }

  /** The first message, past or to come, that matches; it is taken, and those before it stay. */
  receives(
    match: (message: ServerMessage) => boolean,
    timeoutMs: number,
  ): Promise<ReceivedMessage> {
    return this.inbox.receives(match, timeoutMs);
  }

  /** Sends messages; the list may be empty. */
  async send(...messages: readonly string[]): Promise<HttpResult> {
    const { to, timeoutMs } = this.options;
    const target = `${this.path}/xhr_send?t=${Date.now()}&n=${++this.requests}`;
    this.sent = await ask(
      to,
      { method: 'POST', target, body: JSON.stringify(messages) },
      timeoutMs,
    );
    return this.sent;
  }

  /**
   * Makes the server end the response: the newest receive request of a session replaces the others. Returns whether
   * anything of the session arrived by then.
   */
  async takesOver(timeoutMs: number): Promise<boolean> {
    const opened = await this.open();
    if (!opened.ok) return false;
    opened.link.write(this.receiveRequest());
    return (await this.receives(() => true, timeoutMs)).kind === 'message';
  }

  [Symbol.dispose](): void {
    this.isDisposed = true;
    this.links.dispose();
    this.inbox.end(NO_CLOSE_FRAME);
  }

  private async receive(): Promise<void> {
    let link: Link | undefined;
    let isUsed = false;
    for (let asked = 0; asked < RECEIVES_MAX && this.inbox.ending === undefined; asked++) {
      if (link === undefined) {
        const opened = await this.open();
        if (!opened.ok) return this.refuse(unopened(opened));
        link = opened.link;
        isUsed = false;
      }
      link.write(this.receiveRequest());
      const head = await readHead(link, Number.POSITIVE_INFINITY);
      if (head.kind !== 'head') {
        // Between two requests a proxy may close a connection: browsers then ask once more on a new one.
        if (head.kind !== 'nothing' || !isUsed) return this.refuse(head);
        link = undefined;
        continue;
      }
      if (head.status !== 200) return await this.refuseAnswer(link, head);
      const { frames, isWhole, start } = await this.read(new AnswerBodyReader(link, head));
      if (frames === 0 && start !== '') {
        const { status, headers } = head;
        return this.refuse({ kind: 'answer', status, headers, body: start });
      }
      // Only a line ends a stream. Source: HTTP transports, §6.1.
      if (!isWhole || this.transport === 'xhr_streaming') break;
      isUsed = true;
      if (head.headers.get('connection')?.toLowerCase() === 'close') link = undefined;
    }
    this.inbox.end(NO_CLOSE_FRAME);
  }

  /** Reads the lines of a response to its end. */
  private async read(body: AnswerBodyReader) {
    const read = { frames: 0, isWhole: false, start: '' };
    let unread: Buffer = Buffer.alloc(0);
    while (unread.length < LINE_BYTES_MAX) {
      const piece = await body.next(Number.POSITIVE_INFINITY);
      if (typeof piece === 'string') {
        read.isWhole = piece === 'complete';
        break;
      }
      if (read.start === '') read.start = piece.toString('utf8', 0, START_BYTES);
      unread = Buffer.concat([unread, piece]);
      for (let end = unread.indexOf('\n'); end >= 0; end = unread.indexOf('\n')) {
        const line = unread.toString('utf8', 0, end);
        unread = unread.subarray(end + 1);
        if (/^[oamhc]/.test(line)) read.frames++;
        this.take(line);
      }
    }
    return read;
  }

  /** Source: HTTP transports, §4. */
  private take(line: string): void {
    const value = readJson(line.slice(1));
    if (line.startsWith('a') && Array.isArray(value)) {
      for (const message of value) this.receiveMessage(String(message));
    } else if (line.startsWith('m')) {
      this.receiveMessage(String(value));
    } else if (line.startsWith('c') && Array.isArray(value)) {
      this.inbox.end({ code: Number(value[0]), reason: String(value[1] ?? '') });
    }
  }

  private receiveMessage(text: string): void {
    const message = readServerMessage(text) ?? { event: '', data: text };
    if (isPing(message)) void this.send(pong);
    else this.inbox.add(message);
  }

  private async open() {
    const opened = await Link.open(this.options.to, 'all', this.options.timeoutMs);
    if (!opened.ok) return opened;
    if (this.isDisposed) opened.link[Symbol.dispose]();
    else this.links.use(opened.link);
    return opened;
  }

  private receiveRequest(): string {
    const end = this.transport === 'xhr_streaming' ? 'xhr_streaming' : 'xhr';
    const request: HttpRequest = {
      method: 'POST',
      target: `${this.path}/${end}?${receiveQuery(++this.requests)}`,
      host: this.options.to.endpoint.host,
      headers: { ...CONTENT, 'Content-Length': '0' },
    };
    return requestBytes(request);
  }

  private refuse(refusal: HttpAnswer | NoAnswer): void {
    if (!this.isDisposed) this.refusal = refusal;
    this.inbox.end(NO_CLOSE_FRAME);
  }

  private async refuseAnswer(link: Link, head: HttpHead): Promise<void> {
    const body = await new AnswerBodyReader(link, head).next(
      performance.now() + this.options.timeoutMs,
    );
    const text = typeof body === 'string' ? '' : body.toString('utf8', 0, START_BYTES);
    const { status, headers } = head;
    this.refuse({ kind: 'answer', status, headers, body: text });
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A client loses such a line alone. Source: HTTP transports, §4.
    return undefined;
  }
}
