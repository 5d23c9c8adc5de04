import type { Fanfare } from '../servers/fanfare.ts';
import { Waiting } from './waiting.ts';

/**
 * An HTTP client of our own, on a bare TCP or TLS connection: a test says exactly which bytes go out, and
 * reads one answer after the other as they come back.
 */

export interface RawAnswer {
  readonly version: string;
  readonly status: number;
  /** By lower-case name; of repeated ones the last. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export interface RawHttpOptions {
  readonly tls?: boolean;
  /** The address of this machine that it connects from, such as 127.0.0.2. */
  readonly from?: string;
}

/** One request. `Host` is always sent; `Content-Length` if there is a body and `chunks` is not used. */
export interface RawRequest {
  readonly method: string;
  readonly target: string;
  readonly version?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Instead of `body`: sent with `Transfer-Encoding: chunked`, one chunk each. */
  readonly chunks?: readonly (string | Uint8Array)[];
}

const HEAD_END = '\r\n\r\n';

/** The bytes of a request. */
export function requestBytes(request: RawRequest): Buffer {
  const { method, target, version = 'HTTP/1.1', headers = {}, body, chunks } = request;
  const framing =
    chunks !== undefined
      ? 'Transfer-Encoding: chunked\r\n'
      : body !== undefined
        ? `Content-Length: ${Buffer.byteLength(body)}\r\n`
        : '';
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const parts: Buffer[] = [
    Buffer.from(
      `${method} ${target} ${version}\r\nHost: 127.0.0.1\r\n${framing}${lines.join('')}\r\n`,
    ),
    Buffer.from(chunks === undefined ? (body ?? '') : ''),
  ];
  for (const chunk of chunks ?? []) parts.push(chunkBytes(chunk));
  if (chunks !== undefined) parts.push(Buffer.from('0\r\n\r\n'));
  return Buffer.concat(parts);
}

/** One chunk of a chunked body. */
export function chunkBytes(chunk: string | Uint8Array): Buffer {
  const bytes = Buffer.from(chunk);
  return Buffer.concat([
    Buffer.from(`${bytes.length.toString(16)}\r\n`),
    bytes,
    Buffer.from('\r\n'),
  ]);
}

export class RawHttp implements AsyncDisposable {
  private socket: Bun.Socket | undefined;
  private unread = Buffer.alloc(0);
  private unwritten = Buffer.alloc(0);
  private over = false;
  private readonly waiting = new Waiting();

  static async open(server: Pick<Fanfare, 'port'>, options: RawHttpOptions = {}): Promise<RawHttp> {
    const client = new RawHttp();
    const ready = Promise.withResolvers<void>();
    client.socket = await Bun.connect({
      hostname: '127.0.0.1',
      port: server.port,
      ...(options.tls === true ? { tls: { rejectUnauthorized: false } } : {}),
      ...(options.from === undefined ? {} : { localAddress: options.from }),
      socket: {
        open: () => {
          if (options.tls !== true) ready.resolve();
        },
        handshake: () => ready.resolve(),
        data: (_, bytes) => client.takeBytes(bytes),
        drain: () => client.flush(),
        close: () => client.end(),
        error: () => client.end(),
      },
    });
    await ready.promise;
    return client;
  }

  /** Sends these bytes. Bytes that the system does not take at once are sent later. */
  write(bytes: string | Uint8Array): void {
    this.unwritten = Buffer.concat([this.unwritten, Buffer.from(bytes)]);
    this.flush();
  }

  /** Sends a request. */
  sendRequest(request: RawRequest): void {
    this.write(requestBytes(request));
  }

  /** Sends one request and reads its answer. */
  async request(request: RawRequest): Promise<RawAnswer> {
    this.sendRequest(request);
    return await this.read(request.method);
  }

  /** The next answer, `100 Continue` included. Fails when none comes. To `HEAD` there is no body. */
  async read(toMethod = 'GET'): Promise<RawAnswer> {
    const answer = await this.readOrEnd(toMethod);
    if (answer === undefined) throw new Error('The connection ended instead of an answer');
    return answer;
  }

  /** The next answer, or `undefined` if the connection ended without one. */
  async readOrEnd(toMethod = 'GET'): Promise<RawAnswer | undefined> {
    const head = await this.headOrEnd();
    if (head === undefined) return undefined;
    const bodiless = toMethod === 'HEAD' || head.status < 200 || head.status === 204;
    return { ...head, body: bodiless ? '' : await this.readBody(head.headers) };
  }

  /** The head of the next answer, which may not be complete yet. */
  async readHead(): Promise<Omit<RawAnswer, 'body'>> {
    const head = await this.headOrEnd();
    if (head === undefined) throw new Error('The connection ended instead of an answer');
    return head;
  }

  private async headOrEnd(): Promise<Omit<RawAnswer, 'body'> | undefined> {
    await this.waiting.until(() => this.unread.includes(HEAD_END) || this.over, 'an answer');
    const end = this.unread.indexOf(HEAD_END);
    if (end < 0) {
      if (this.unread.length > 0) throw new Error(`Half an answer: ${this.unread}`);
      return undefined;
    }
    const [start = '', ...lines] = this.take(end + HEAD_END.length)
      .trimEnd()
      .split('\r\n');
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const [version = '', status = ''] = start.split(' ');
    return { version, status: Number(status), headers };
  }

  /** Everything that comes until the connection ends, as it is. */
  async readToEnd(): Promise<string> {
    await this.untilEnd();
    return this.take(this.unread.length);
  }

  /** Waits until the server has closed the connection. */
  async untilEnd(): Promise<void> {
    await this.waiting.until(() => this.over, 'the end of the connection');
  }

  get ended(): boolean {
    return this.over;
  }

  /** Ends its own direction of the connection, and still reads. */
  endWriting(): void {
    this.socket?.shutdown();
  }

  /** Waits for the first bytes that were not read yet. */
  async untilBytes(): Promise<void> {
    await this.waiting.until(() => this.unread.length > 0 || this.over, 'bytes');
  }

  /** Reads nothing from now on. */
  pauseReading(): void {
    this.socket?.pause();
  }

  /** Reads again after `pauseReading`. */
  resumeReading(): void {
    this.socket?.resume();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket?.terminate();
    this.end();
  }

  private async readBody(headers: ReadonlyMap<string, string>): Promise<string> {
    if (headers.get('transfer-encoding') === 'chunked') return await this.readChunks();
    const length = headers.get('content-length');
    if (length === undefined) {
      await this.untilEnd();
      return this.take(this.unread.length);
    }
    await this.waiting.until(
      () => this.unread.length >= Number(length) || this.over,
      'the whole body',
    );
    return this.take(Number(length));
  }

  private async readChunks(): Promise<string> {
    let body = '';
    for (;;) {
      await this.waiting.until(() => this.unread.includes('\r\n') || this.over, 'a chunk');
      const size = Number.parseInt(this.take(this.unread.indexOf('\r\n') + 2), 16);
      await this.waiting.until(() => this.unread.length >= size + 2 || this.over, 'a whole chunk');
      body += this.take(size);
      this.take(2);
      if (size === 0 || this.over) return body;
    }
  }

  private take(bytes: number): string {
    const taken = this.unread.subarray(0, bytes).toString('utf8');
    this.unread = this.unread.subarray(bytes);
    return taken;
  }

  private takeBytes(bytes: Uint8Array): void {
    this.unread = Buffer.concat([this.unread, bytes]);
    this.waiting.wake();
  }

  private flush(): void {
    if (this.unwritten.length === 0) return;
    const written = this.socket?.write(this.unwritten) ?? 0;
    if (written > 0) this.unwritten = this.unwritten.subarray(written);
  }

  private end(): void {
    this.over = true;
    this.waiting.wake();
  }
}
