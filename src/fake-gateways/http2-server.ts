import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { FrameDecoder, type FrameListener } from '../outgoing/http2/frame-decoder.ts';
import { FrameWriter } from '../outgoing/http2/frames/frame-writer.ts';
import {
  ERROR,
  FLAG,
  FRAME,
  PREFACE,
  SETTING,
  WINDOW_BYTES,
} from '../outgoing/http2/frames/protocol.ts';
import { plainBlock } from '../outgoing/http2/hpack/header-encoder.ts';
import { ReceiveWindow } from '../outgoing/http2/receive-window.ts';
import type { Certificate } from '../runtime/tls/certificate.ts';

/** A complete request. */
export interface Http2ServedRequest {
  readonly session: ServedSession;
  readonly id: number;
  /** Includes the pseudo-header fields. */
  readonly fields: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

export interface Http2ServerOptions {
  readonly host: string;
  /** What it listens on, if that is not `host`. */
  readonly address?: string | undefined;
  readonly port: number;
  /** Without it, the server speaks HTTP/2 without TLS. */
  readonly certificate: Certificate | undefined;
  /** Concurrent requests of one connection. More are refused. */
  readonly streamsMax: number;
  /** The limit that it announces, if it is another one. */
  readonly streamsAnnounced?: number | undefined;
  /** Called instead of refusing a request over `streamsMax`. */
  readonly onTooMany?: (session: ServedSession, id: number) => void;
  /** Handles TLS connections that do not negotiate HTTP/2; without it, they are refused. */
  readonly onHttp1?: (socket: Socket) => void;
  readonly onRequest: (request: Http2ServedRequest) => void;
}

/** How much of a request's body is kept: more than any gateway accepts. */
const BODY_BYTES_MAX = 64 * 1024;

const CONNECTION_WINDOW_BYTES = 2 ** 30;

interface ServedStream {
  readonly fields: ReadonlyMap<string, string>;
  readonly chunks: Buffer[];
  bytes: number;
  isComplete: boolean;
}

/** One connection to the server. */
export class ServedSession implements FrameListener {
  /** Requests that were refused because of the limit. */
  refusals = 0;
  /** The highest number of concurrent requests so far. */
  peakStreams = 0;
  private readonly socket: Socket;
  private readonly options: Http2ServerOptions;
  private readonly decoder = new FrameDecoder(this, { preface: PREFACE });
  private readonly writer: FrameWriter;
  private readonly received: ReceiveWindow;
  private readonly streams = new Map<number, ServedStream>();
  private streamsMax: number;
  /** After GOAWAY: requests above it are ignored. */
  private goAwayId: number | undefined;
  private sendWindow = WINDOW_BYTES;
  /** Bodies of answers that wait for the client's window. */
  private readonly waiting: { readonly id: number; readonly body: Buffer }[] = [];

  constructor(socket: Socket, options: Http2ServerOptions) {
    this.socket = socket;
    this.options = options;
    this.writer = new FrameWriter((bytes) => {
      if (socket.writable) socket.write(bytes);
      // Never blocks: the socket may buffer without limit.
      return true;
    });
    this.received = new ReceiveWindow(this.writer, CONNECTION_WINDOW_BYTES);
    socket.on('data', (bytes: Buffer) => this.onBytes(bytes));
    socket.on('error', () => socket.destroy());
    this.announce(options.streamsAnnounced ?? options.streamsMax);
    this.streamsMax = options.streamsMax;
    this.received.announce();
  }

  /** Announces how many concurrent requests the client may have from now on. */
  announce(streamsMax: number): void {
    this.streamsMax = streamsMax;
    this.writer.settings([[SETTING.maxConcurrentStreams, streamsMax]]);
  }

  /** Enforces another limit than was announced. */
  enforce(streamsMax: number): void {
    this.streamsMax = streamsMax;
  }

  /** Whether a request still waits for its answer. */
  isOpen(id: number): boolean {
    return this.streams.has(id);
  }

  answer(id: number, status: number, fields: Readonly<Record<string, string>>, body = ''): void {
    if (!this.streams.delete(id)) return;
    const block = fieldBlock({ ':status': String(status), ...fields });
    const flags = FLAG.endHeaders | (body === '' ? FLAG.endStream : 0);
    this.writer.frame(FRAME.headers, flags, id, block);
    if (body === '') return;
    this.waiting.push({ id, body: Buffer.from(body) });
    this.sendBodies();
  }

  reset(id: number, code: number): void {
    this.streams.delete(id);
    this.writer.reset(id, code);
  }

  /** Accepts no requests above `lastId` any more; earlier ones are finished. */
  goAway(lastId: number, code: number, debugData: string): void {
    this.goAwayId = lastId;
    for (const id of this.streams.keys()) if (id > lastId) this.streams.delete(id);
    this.writer.goAway(lastId, code, debugData);
  }

  cut(): void {
    this.socket.destroy();
  }

  /** Stops reading and answering, as if a cable was pulled. */
  freeze(): void {
    this.socket.removeAllListeners('data');
    this.socket.pause();
  }

  onHeaders(id: number, list: readonly string[], isLast: boolean): void {
    if (this.goAwayId !== undefined && id > this.goAwayId) return;
    if (this.streams.size >= this.streamsMax) {
      this.refusals++;
      const { onTooMany } = this.options;
      return onTooMany === undefined ? this.reset(id, ERROR.refusedStream) : onTooMany(this, id);
    }
    const fields = new Map<string, string>();
    for (let at = 0; at < list.length; at += 2) fields.set(list[at] ?? '', list[at + 1] ?? '');
    const stream = { fields, chunks: [], bytes: 0, isComplete: false };
    this.streams.set(id, stream);
    this.peakStreams = Math.max(this.peakStreams, this.streams.size);
    if (isLast) this.complete(id, stream);
  }

  onData(id: number, part: Buffer, isLast: boolean, windowBytes: number): void {
    this.received.onReceived(windowBytes);
    const stream = this.streams.get(id);
    if (stream === undefined || stream.isComplete) return;
    stream.bytes += windowBytes;
    if (stream.bytes > BODY_BYTES_MAX) return this.reset(id, ERROR.cancel);
    stream.chunks.push(Buffer.from(part));
    if (isLast) this.complete(id, stream);
  }

  onReset(id: number): void {
    this.streams.delete(id);
  }

  onSetting(): void {
    // Answers are small enough for every client's settings.
  }

  onSettingsEnd(): void {
    this.writer.settingsAck();
  }

  onPing(payload: Buffer): void {
    this.writer.frame(FRAME.ping, FLAG.ack, 0, payload);
  }

  onGoAway(): void {
    // The client closes the connection once it has its answers.
  }

  onWindowUpdate(id: number, increment: number): void {
    if (id !== 0) return;
    this.sendWindow += increment;
    this.sendBodies();
  }

  private onBytes(bytes: Buffer): void {
    try {
      this.decoder.read(bytes);
    } catch {
      // The client broke the protocol. A fake need not name the rule.
      this.cut();
    }
  }

  private complete(id: number, stream: ServedStream): void {
    stream.isComplete = true;
    const { fields, chunks } = stream;
    const [first = Buffer.alloc(0)] = chunks;
    const body = chunks.length === 1 ? first : Buffer.concat(chunks);
    this.options.onRequest({ session: this, id, fields, body });
  }

  /** A body always fits the window of its stream, but not always that of the connection. */
  private sendBodies(): void {
    for (let next = this.waiting[0]; next !== undefined; next = this.waiting[0]) {
      if (next.body.length > this.sendWindow) return;
      this.sendWindow -= next.body.length;
      this.writer.frame(FRAME.data, FLAG.endStream, next.id, next.body);
      this.waiting.shift();
    }
  }
}

/** Encoded header blocks, without the dynamic table. They are cached: a gateway has few different answers. */
const blocks = new Map<string, Buffer>();
const BLOCKS_MAX = 1000;

function fieldBlock(fields: Readonly<Record<string, string>>): Buffer {
  const key = JSON.stringify(fields);
  const known = blocks.get(key);
  if (known !== undefined) return known;
  const block = plainBlock(fields);
  if (blocks.size < BLOCKS_MAX) blocks.set(key, block);
  return block;
}

/** A running server, and its connections. */
export interface Http2Server extends AsyncDisposable {
  readonly port: number;
  readonly sessions: ReadonlySet<ServedSession>;
}

/**
 * Serves HTTP/2 for tests. It controls each frame, because a fake must be able to do exactly what the real gateway does,
 * such as refuse a request or send GOAWAY at any time.
 */
export async function serveHttp2(options: Http2ServerOptions): Promise<Http2Server> {
  const sessions = new Set<ServedSession>();
  const sockets = new Set<Socket>();
  const { onHttp1 } = options;
  const onSocket = (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    if (onHttp1 !== undefined && 'alpnProtocol' in socket && socket.alpnProtocol !== 'h2') {
      return onHttp1(socket);
    }
    const session = new ServedSession(socket, options);
    sessions.add(session);
    socket.once('close', () => sessions.delete(session));
  };
  const server: Server =
    options.certificate === undefined
      ? createTcpServer({ noDelay: true }, onSocket)
      : createTlsServer(
          {
            ...options.certificate,
            ALPNProtocols: onHttp1 === undefined ? ['h2'] : ['h2', 'http/1.1'],
            noDelay: true,
          },
          onSocket,
        );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.address ?? options.host, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    sessions,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
