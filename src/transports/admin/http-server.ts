import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { peerAddress } from '../../runtime/listen-host.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { lastResponse, openPort } from '../node-http.ts';
import { Lingering } from '../refused-body.ts';
import { SMALL_ANSWER } from '../response-body.ts';
import { type UnreadAnswer, UnreadAnswers } from '../unread-answers.ts';
import { type AdminAnswer, headersOf, refuse } from './answers.ts';
import { type AdminBounds, HEAD_BYTES_MAX } from './bounds.ts';
import { AdminConnections, keyOf } from './connections.ts';
import { type AdminRequestHead, headOf } from './request-head.ts';

/** A request whose body has not been read yet. */
export interface AdminRequest {
  readonly head: AdminRequestHead;
  /** Reads the body. `too-long`: it exceeds the limit. `gone`: the connection closed before it was complete. */
  readBody(): Promise<Buffer | 'too-long' | 'gone'>;
  /** Aborts when the connection closes before the answer is complete. */
  readonly signal: AbortSignal;
}

/** The code of Node.js for a request that was not complete in time. */
const TOO_LATE = 'ERR_HTTP_REQUEST_TIMEOUT';

/** Why the server refused something without asking its owner. */
export type ServerRefusal =
  | 'too-many-connections'
  | 'too-many-requests'
  | 'unread'
  | 'not-http'
  | 'too-slow';

export interface AdminServerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly bounds: AdminBounds;
  /** Must not throw. */
  readonly answer: (request: AdminRequest) => Promise<AdminAnswer>;
  /** Called when a connection, or bytes that are not a valid request, are refused. */
  readonly onRefused: (reason: ServerRefusal, address: string) => void;
}

/**
 * The HTTP server of the admin listener. It uses `node:http`, because `Bun.serve` reads every body, and reports neither
 * the HTTP version nor slow requests.
 */
export class AdminServer implements AsyncDisposable {
  /** The port that it listens on. */
  port = 0;
  private readonly options: AdminServerOptions;
  private readonly server: Server;
  private readonly connections: AdminConnections;
  private readonly unread: UnreadAnswers;
  /** Requests without an answer, or with one that is no stream and not sent yet. */
  private readonly unanswered = new Set<ServerResponse>();
  private isDraining = false;
  private onAnswered: (() => void) | undefined;

  private constructor(options: AdminServerOptions) {
    const { bounds } = options;
    this.options = options;
    this.connections = new AdminConnections(bounds);
    this.unread = new UnreadAnswers({
      bytesMax: bounds.unreadBytes,
      clock: performance,
      onBroken: ({ owner }) => options.onRefused('unread', owner),
    });
    this.server = createServer({
      headersTimeout: bounds.headMs,
      requestTimeout: bounds.requestMs,
      keepAliveTimeout: bounds.idleMs,
      connectionsCheckingInterval: Math.min(1000, bounds.requestMs / 2),
      maxHeaderSize: HEAD_BYTES_MAX,
      // The listener checks it, so that the refusal has a body.
      requireHostHeader: false,
    });
    this.server.on('connection', (socket) => this.connected(socket));
    this.server.on('request', (request, response) => this.requested(request, response, false));
    this.server.on('checkContinue', (request, response) => this.requested(request, response, true));
    this.server.on('checkExpectation', (request, response) =>
      this.requested(request, response, false),
    );
    this.server.on('connect', (_, socket) => socket.destroy());
    this.server.on('clientError', (error: { readonly code?: string }, socket) =>
      this.unreadable(error.code ?? '', socket as Socket),
    );
  }

  /** Opens the port. Rejects with the error of Node.js, such as `EADDRINUSE`. */
  static async open(options: AdminServerOptions): Promise<AdminServer> {
    const opened = new AdminServer(options);
    opened.port = await openPort(opened.server, options.port, options.host);
    return opened;
  }

  /** Lets each connection close after its next answer. */
  drain(): void {
    this.isDraining = true;
  }

  /** Settles when each request is answered. Streams do not count. */
  async answered(): Promise<void> {
    if (this.unanswered.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.onAnswered = resolve;
    await promise;
  }

  /** Closes the port and every connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.server.close(() => resolve());
    this.connections.closeAll();
    await promise;
  }

  private connected(socket: Socket): void {
    if (this.connections.open(socket)) return;
    this.options.onRefused('too-many-connections', this.peerOf(socket));
  }

  private peerOf(socket: Socket): string {
    return peerAddress(this.options.host, socket.remoteAddress);
  }

  private unreadable(code: string, socket: Socket): void {
    const isLate = code === TOO_LATE;
    if (!socket.writable || !(isLate || code.startsWith('HPE_'))) {
      socket.destroy();
      return;
    }
    this.options.onRefused(isLate ? 'too-slow' : 'not-http', this.peerOf(socket));
    const answer = refusalOf(code);
    socket.end(lastResponse(answer.status, headersOf(answer), answer.body));
    destroyLater(socket, this.options.bounds.restMs);
  }

  /** `expectsContinue`: the client waits for `100 Continue` before it sends the body. */
  private requested(
    request: IncomingMessage,
    response: ServerResponse,
    expectsContinue: boolean,
  ): void {
    const { socket } = request;
    // Requests that arrived together come one after the other, also after the connection was closed.
    if (socket.destroyed) return;
    const { bodyBytes, requestsPerConnection } = this.options.bounds;
    const inFlight = this.connections.countRequest(socket, 1);
    this.unanswered.add(response);
    response.once('close', () => {
      this.connections.countRequest(socket, -1);
      this.isAnswered(response);
    });
    if (inFlight > requestsPerConnection) {
      this.options.onRefused('too-many-requests', this.peerOf(socket));
      socket.destroy();
      return;
    }
    const body = new RequestBody({ request, response, bytesMax: bodyBytes });
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    void this.options
      .answer({
        head: headOf(request, this.options.host),
        readBody: () => body.read(expectsContinue),
        signal: gone.signal,
      })
      .then((answer) => this.send(answer, { response, body }));
  }

  /** Keeps room for a long answer until the socket has taken it; `false` if there is none. */
  private holds({ body }: AdminAnswer, socket: Socket, response: ServerResponse): boolean {
    const bytes = body instanceof ReadableStream ? 0 : Buffer.byteLength(body);
    if (bytes <= SMALL_ANSWER) return true;
    const unread: UnreadAnswer = {
      owner: keyOf(socket),
      waitingBytes: () => bytes,
      break: () => socket.destroy(),
    };
    response.once('close', () => this.unread.release(unread));
    return this.unread.hold(unread);
  }

  private send(answer: AdminAnswer, { response, body }: Exchange): void {
    const { socket } = response;
    if (socket === null || response.destroyed) {
      if (answer.body instanceof ReadableStream) void answer.body.cancel();
      return;
    }
    if (!this.holds(answer, socket, response)) {
      this.options.onRefused('unread', keyOf(socket));
      return this.send(refuse(503, 'Too many answers are not read; try again'), { response, body });
    }
    const { bounds } = this.options;
    const headers = headersOf(answer);
    if (this.isDraining) headers['connection'] = 'close';
    if (response.req.method === 'HEAD' && answer.body instanceof ReadableStream) {
      void answer.body.cancel();
      response.writeHead(answer.status, headers).end();
      return;
    }
    if (answer.body instanceof ReadableStream) {
      this.isAnswered(response);
      response.writeHead(answer.status, headers);
      void sendStream(answer.body, { response, unreadMs: bounds.unreadAnswerMs });
      return;
    }
    const cancelUnread = monotonicTimers.after(bounds.unreadAnswerMs, () => socket.destroy());
    response.once('close', cancelUnread);
    if (body.isComplete) {
      response.writeHead(answer.status, headers).end(answer.body);
      return;
    }
    // A client that is still sending would not see the answer if the connection were closed at once.
    response.writeHead(answer.status, { ...headers, connection: 'close' });
    response.write(answer.body);
    const lingering = new Lingering(bounds, () => response.end());
    response.once('close', () => lingering.stop());
    body.dropRest(lingering);
  }

  private isAnswered(response: ServerResponse): void {
    this.unanswered.delete(response);
    if (this.unanswered.size === 0) this.onAnswered?.();
  }
}

interface Exchange {
  readonly response: ServerResponse;
  readonly body: RequestBody;
}

interface RequestBodyOptions {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly bytesMax: number;
}

/** The body of a request. Nothing of it is read before `read` or `skip`. */
class RequestBody {
  private readonly options: RequestBodyOptions;
  private complete: boolean;

  constructor(options: RequestBodyOptions) {
    const { request } = options;
    const { headers } = request;
    this.options = options;
    this.complete =
      headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
    request.once('end', () => {
      this.complete = true;
    });
  }

  /** Whether all of it has arrived. */
  get isComplete(): boolean {
    return this.complete;
  }

  read(expectsContinue: boolean): Promise<Buffer | 'too-long' | 'gone'> {
    const { request, response, bytesMax } = this.options;
    if (this.complete) return Promise.resolve(Buffer.alloc(0));
    if (Number(request.headers['content-length'] ?? 0) > bytesMax)
      return Promise.resolve('too-long');
    const { promise, resolve } = Promise.withResolvers<Buffer | 'too-long' | 'gone'>();
    const parts: Uint8Array[] = [];
    let bytes = 0;
    request.on('data', (part: Uint8Array) => {
      bytes += part.length;
      if (bytes > bytesMax) resolve('too-long');
      else parts.push(part);
    });
    request.once('end', () => resolve(Buffer.concat(parts)));
    request.once('close', () => resolve('gone'));
    request.once('error', () => resolve('gone'));
    if (expectsContinue) response.writeContinue();
    return promise;
  }

  /** Discards the rest. */
  dropRest(lingering: Lingering): void {
    const { request } = this.options;
    request.on('data', (part: Uint8Array) => lingering.received(part.length));
    request.once('end', () => lingering.end());
    request.resume();
  }
}

/**
 * Writes a stream as fast as the client reads it, however slowly: a stream ends at some time. A client that has not read
 * the rest `unreadMs` after the end is cut off.
 */
async function sendStream(
  stream: ReadableStream<Uint8Array>,
  { response, unreadMs }: { readonly response: ServerResponse; readonly unreadMs: number },
): Promise<void> {
  const reader = stream.getReader();
  let cancelUnread: (() => void) | undefined;
  response.once('close', () => {
    cancelUnread?.();
    void reader.cancel().catch(() => undefined);
  });
  // While the stream goes on, its client may read when it likes: the stream bounds what waits, and keeps the newest.
  reader.closed.then(
    () => {
      if (response.destroyed) return;
      cancelUnread = monotonicTimers.after(unreadMs, () => response.destroy());
    },
    () => response.destroy(),
  );
  // Sent at once, so that the client knows that its request was accepted.
  response.flushHeaders();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || response.destroyed) break;
      if (response.write(value)) continue;
      const { promise, resolve } = Promise.withResolvers<void>();
      response.once('drain', resolve);
      response.once('close', resolve);
      await promise;
      response.off('drain', resolve);
      response.off('close', resolve);
    }
    response.end();
  } catch {
    // The stream has failed. In HTTP, only breaking the connection can signal that.
    response.destroy();
  }
}

/** The answer to a request that Node.js could not read. */
function refusalOf(code: string) {
  if (code === TOO_LATE) return refuse(408, 'The request was not complete in time');
  return code === 'HPE_HEADER_OVERFLOW'
    ? refuse(431, 'The head of the request is too large')
    : refuse(400, 'The request is not valid HTTP');
}

function destroyLater(socket: Socket, delayMs: number): void {
  const cancel = monotonicTimers.after(delayMs, () => socket.destroy());
  socket.once('close', cancel);
}
