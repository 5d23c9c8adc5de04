import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import {
  ERROR,
  FLAG,
  FRAME,
  FRAME_HEADER_BYTES,
  FrameReader,
  PREFACE,
  SETTING,
  WINDOW_BYTES,
} from '../outgoing/http2/frames.ts';
import { HeaderDecoder } from '../outgoing/http2/header-decoder.ts';
import { plainField } from '../outgoing/http2/header-field.ts';
import { OutBuffer } from '../outgoing/http2/out-buffer.ts';
import type { Certificate } from './self-signed.ts';

/** A request that is complete. */
export interface ServedRequest {
  readonly session: ServedSession;
  readonly id: number;
  /** With the pseudo-header fields. */
  readonly fields: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

export interface Http2ServerOptions {
  readonly host: string;
  readonly port: number;
  /** Without it, the server speaks HTTP/2 from the first byte, without TLS. */
  readonly certificate: Certificate | undefined;
  /** Requests of one connection at a time. What is over it is turned away. */
  readonly streamsMax: number;
  readonly onSession?: (session: ServedSession) => void;
  /** In place of turning away what is over `streamsMax`. */
  readonly onTooMany?: (session: ServedSession, id: number) => void;
  /** Takes over TLS connections that do not ask for HTTP/2; without it, there are none. */
  readonly onHttp1?: (socket: Socket) => void;
  readonly onRequest: (request: ServedRequest) => void;
}

/** What is kept of a request's body. More than any gateway takes. */
const BODY_BYTES_MAX = 64 * 1024;

/** What clients may send before they are told to go on. */
const CONNECTION_WINDOW_BYTES = 2 ** 30;

/** Bytes that are written without waiting for more. */
const FLUSH_BYTES = 64 * 1024;

interface ServedStream {
  readonly fields: ReadonlyMap<string, string>;
  readonly chunks: Buffer[];
  bytes: number;
  isComplete: boolean;
}

/** One connection to the server. */
export class ServedSession {
  private readonly socket: Socket;
  private readonly options: Http2ServerOptions;
  private readonly out = new OutBuffer();
  private readonly decoder = new HeaderDecoder();
  private readonly frames = new FrameReader((type, flags, id, bytes, start, end) =>
    this.onFrame(type, flags, id, bytes, start, end),
  );
  private readonly streams = new Map<number, ServedStream>();
  private preface: Buffer = Buffer.alloc(0);
  private block:
    | { readonly id: number; readonly flags: number; readonly parts: Buffer[] }
    | undefined;
  private streamsMax: number;
  /** Requests above it are not looked at any more. */
  private goodbyeId: number | undefined;
  private receivedBytes = 0;
  private sendWindow = WINDOW_BYTES;
  /** Bodies of answers that wait until the client takes them. */
  private readonly waiting: { readonly id: number; readonly body: Buffer }[] = [];
  private isFlushPlanned = false;
  /** Whether the client has shown who it is, for gateways to which that matters. */
  isKnown = false;
  /** Requests that were too many at a time. */
  turnedAway = 0;
  /** The most that there were at a time. */
  mostAtOnce = 0;

  constructor(socket: Socket, options: Http2ServerOptions) {
    this.socket = socket;
    this.options = options;
    this.streamsMax = options.streamsMax;
    socket.on('data', (bytes: Buffer) => this.onData(bytes));
    socket.on('error', () => socket.destroy());
    this.announce(options.streamsMax);
    this.writeFrame(FRAME.windowUpdate, 0, 0, uint32(CONNECTION_WINDOW_BYTES - WINDOW_BYTES));
  }

  /** Tells the client how many requests it may have at a time, from now on. */
  announce(streamsMax: number): void {
    this.streamsMax = streamsMax;
    const setting = Buffer.concat([Buffer.of(0, SETTING.maxConcurrentStreams), uint32(streamsMax)]);
    this.writeFrame(FRAME.settings, 0, 0, setting);
  }

  /** Turns away what is over another bound than was announced. */
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
    this.writeFrame(FRAME.headers, flags, id, block);
    if (body === '') return;
    this.waiting.push({ id, body: Buffer.from(body) });
    this.sendBodies();
  }

  reset(id: number, code: number): void {
    this.streams.delete(id);
    this.writeFrame(FRAME.reset, 0, id, uint32(code));
  }

  /** Takes no request above this one any more; what was begun is finished. */
  goAway(lastId: number, code: number, words: string): void {
    this.goodbyeId = lastId;
    for (const id of this.streams.keys()) if (id > lastId) this.streams.delete(id);
    const payload = Buffer.concat([uint32(lastId), uint32(code), Buffer.from(words)]);
    this.writeFrame(FRAME.goAway, 0, 0, payload);
  }

  cut(): void {
    this.socket.destroy();
  }

  /** Says nothing any more, and hears nothing: as where a cable is pulled. */
  freeze(): void {
    this.socket.removeAllListeners('data');
    this.socket.pause();
  }

  private onData(bytes: Buffer): void {
    if (this.preface.length === PREFACE.length) return this.onFrames(bytes);
    const all = Buffer.concat([this.preface, bytes]);
    this.preface = all.subarray(0, PREFACE.length);
    if (!PREFACE.subarray(0, this.preface.length).equals(this.preface)) return this.cut();
    if (all.length > PREFACE.length) this.onFrames(all.subarray(PREFACE.length));
  }

  private onFrames(bytes: Buffer): void {
    try {
      if (!this.frames.read(bytes)) this.cut();
    } catch {
      // Whatever it is, the client has broken the rules: a fake has no more to say to it.
      this.cut();
    }
  }

  private onFrame(
    type: number,
    flags: number,
    id: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): void {
    switch (type) {
      case FRAME.headers: {
        const skipped = (flags & FLAG.padded ? 1 : 0) + (flags & FLAG.priority ? 5 : 0);
        const padding = flags & FLAG.padded ? (bytes[start] ?? 0) : 0;
        this.block = {
          id,
          flags,
          parts: [Buffer.from(bytes.subarray(start + skipped, end - padding))],
        };
        if (flags & FLAG.endHeaders) this.onBlock();
        return;
      }
      case FRAME.continuation:
        this.block?.parts.push(Buffer.from(bytes.subarray(start, end)));
        if (flags & FLAG.endHeaders) this.onBlock();
        return;
      case FRAME.data:
        return this.onBody(id, flags, bytes, start, end);
      case FRAME.reset:
        this.streams.delete(id);
        return;
      case FRAME.settings:
        if (!(flags & FLAG.ack)) this.writeFrame(FRAME.settings, FLAG.ack, 0, Buffer.alloc(0));
        return;
      case FRAME.ping:
        if (flags & FLAG.ack) return;
        return this.writeFrame(FRAME.ping, FLAG.ack, 0, bytes.subarray(start, end));
      case FRAME.windowUpdate:
        if (id !== 0) return;
        this.sendWindow += bytes.readUInt32BE(start);
        return this.sendBodies();
      default:
        return;
    }
  }

  private onBlock(): void {
    const { block } = this;
    this.block = undefined;
    if (block === undefined) return;
    const list = this.decoder.read(Buffer.concat(block.parts));
    const { id, flags } = block;
    if (this.goodbyeId !== undefined && id > this.goodbyeId) return;
    if (this.streams.size >= this.streamsMax) {
      this.turnedAway++;
      const { onTooMany } = this.options;
      return onTooMany === undefined ? this.reset(id, ERROR.refusedStream) : onTooMany(this, id);
    }
    const fields = new Map<string, string>();
    for (let at = 0; at < list.length; at += 2) fields.set(list[at] ?? '', list[at + 1] ?? '');
    const stream = { fields, chunks: [], bytes: 0, isComplete: false };
    this.streams.set(id, stream);
    this.mostAtOnce = Math.max(this.mostAtOnce, this.streams.size);
    if (flags & FLAG.endStream) this.complete(id, stream);
  }

  private onBody(id: number, flags: number, bytes: Buffer, start: number, end: number): void {
    this.countReceived(end - start);
    const stream = this.streams.get(id);
    if (stream === undefined || stream.isComplete) return;
    const padding = flags & FLAG.padded ? (bytes[start] ?? 0) : 0;
    const from = start + (flags & FLAG.padded ? 1 : 0);
    stream.bytes += end - start;
    if (stream.bytes > BODY_BYTES_MAX) return this.reset(id, ERROR.cancel);
    stream.chunks.push(Buffer.from(bytes.subarray(from, end - padding)));
    if (flags & FLAG.endStream) this.complete(id, stream);
  }

  private complete(id: number, stream: ServedStream): void {
    stream.isComplete = true;
    const { fields, chunks } = stream;
    const [first = Buffer.alloc(0)] = chunks;
    const body = chunks.length === 1 ? first : Buffer.concat(chunks);
    this.options.onRequest({ session: this, id, fields, body });
  }

  private countReceived(bytes: number): void {
    this.receivedBytes += bytes;
    if (this.receivedBytes < CONNECTION_WINDOW_BYTES / 2) return;
    this.writeFrame(FRAME.windowUpdate, 0, 0, uint32(this.receivedBytes));
    this.receivedBytes = 0;
  }

  /** Bodies are smaller than what any client takes on one stream, but not on all of them together. */
  private sendBodies(): void {
    for (let next = this.waiting[0]; next !== undefined; next = this.waiting[0]) {
      if (next.body.length > this.sendWindow) return;
      this.sendWindow -= next.body.length;
      this.writeFrame(FRAME.data, FLAG.endStream, next.id, next.body);
      this.waiting.shift();
    }
  }

  private writeFrame(type: number, flags: number, id: number, payload: Buffer): void {
    this.out.reserve(FRAME_HEADER_BYTES + payload.length);
    this.out.frame(payload.length, type, flags, id);
    this.out.bytes(payload);
    if (this.out.length >= FLUSH_BYTES) return this.flush();
    if (this.isFlushPlanned) return;
    this.isFlushPlanned = true;
    process.nextTick(() => {
      this.isFlushPlanned = false;
      this.flush();
    });
  }

  private flush(): void {
    for (const piece of this.out.take()) if (this.socket.writable) this.socket.write(piece);
  }
}

/** Header fields in the plainest form, remembered: a gateway has few answers. */
const blocks = new Map<string, Buffer>();
const BLOCKS_MAX = 1000;

function fieldBlock(fields: Readonly<Record<string, string>>): Buffer {
  const key = JSON.stringify(fields);
  const known = blocks.get(key);
  if (known !== undefined) return known;
  const out = new OutBuffer();
  for (const [name, value] of Object.entries(fields)) {
    const { nameIndex, literal } = plainField(name, value);
    out.reserve(literal.length + 8);
    out.integer(0, 4, nameIndex);
    out.bytes(literal);
  }
  const block = Buffer.concat(out.take());
  if (blocks.size < BLOCKS_MAX) blocks.set(key, block);
  return block;
}

/** A running server, and its connections. */
export interface Http2Server extends AsyncDisposable {
  readonly port: number;
  readonly sessions: ReadonlySet<ServedSession>;
}

/**
 * Serves HTTP/2 for tests and trials. The frames are written here, since a fake must be able to say exactly what
 * the real one says, such as a request that is turned away or a goodbye in the middle of everything.
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
    options.onSession?.(session);
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
    server.listen(options.port, options.host, resolve);
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

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
