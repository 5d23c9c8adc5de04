import { constants, inflateRawSync } from 'node:zlib';
import { APP, type Fanfare } from '../servers/fanfare.ts';
import type { Closed } from './closed.ts';
import { FallbackCarrier, type FallbackTransportName } from './fallback-carrier.ts';
import { threadsSettled } from './settled.ts';
import { Waiting } from './waiting.ts';

/**
 * A WebSocket client of our own, on a bare TCP connection, so that a test says exactly which bytes go out
 * and sees exactly which come back.
 */

export interface ReceivedEvent {
  readonly event: string;
  readonly channel?: string;
  readonly data?: unknown;
  readonly user_id?: string;
}

export interface RawClientOptions {
  /** Path and query; otherwise that of the test app. */
  readonly path?: string;
  readonly protocol?: string | number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An event of the protocol to leave out, because the test is about others. */
  readonly ignores?: string;
  /** Reads nothing at all after the handshake. */
  readonly deaf?: boolean;
  /** What carries the messages: a WebSocket, unless `TEST_TRANSPORT` names another. */
  readonly transport?: 'ws' | FallbackTransportName;
}

/** What carries the messages of clients that do not choose. */
export const TRANSPORT = (process.env['TEST_TRANSPORT'] ?? 'ws') as 'ws' | FallbackTransportName;

/** Masked, with a mask of zeros. */
const CLOSE_1000 = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]);

/** In place of an event: a ping of the WebSocket protocol, which is not answered by itself. */
export const WS_PING = 'a WebSocket ping';

/** In the first byte of a frame: its message is compressed. */
export const COMPRESSED = 0x40;

/** What the sender of a compressed message leaves out. */
const DEFLATE_END = Uint8Array.of(0, 0, 0xff, 0xff);

const MASK = [0x12, 0x34, 0x56, 0x78];

/** One frame as a client must send it: masked. `opcode` 1 text, 2 binary, 8 close, 9 ping, 10 pong. */
export function clientFrame(opcode: number, payload: string | Uint8Array, final = true): Buffer {
  const body = Buffer.from(payload);
  const first = (final ? 0x80 : 0) | opcode;
  let head: Buffer;
  if (body.length < 126) {
    head = Buffer.from([first, 0x80 | body.length]);
  } else if (body.length < 65_536) {
    head = Buffer.from([first, 0x80 | 126, body.length >> 8, body.length & 0xff]);
  } else {
    head = Buffer.alloc(10);
    head[0] = first;
    head[1] = 0x80 | 127;
    head.writeBigUInt64BE(BigInt(body.length), 2);
  }
  for (let at = 0; at < body.length; at++) {
    body[at] = (body[at] ?? 0) ^ (MASK[at % 4] ?? 0);
  }
  return Buffer.concat([head, Buffer.from(MASK), body]);
}

/** The handshake of the test app's clients. */
export function pathOf(protocol: string | number = 7, key: string = APP.key): string {
  return `/app/${key}?protocol=${protocol}&client=js&version=8.6.0&flash=false`;
}

export class RawClient implements AsyncDisposable {
  /** The head of the answer to the handshake. */
  responseHead = '';
  /** Bytes of all frames so far, as they came over the wire, and how many of the frames were compressed. */
  receivedBytes = 0;
  compressedFrames = 0;
  /** Settles when the connection has ended. */
  readonly closed: Promise<Closed>;
  private readonly ended = Promise.withResolvers<Closed>();
  private readonly frames: string[] = [];
  private readonly pongs: string[] = [];
  private readonly unsent: Uint8Array[] = [];
  private readonly waiting = new Waiting();
  private buffer = Buffer.alloc(0);
  private ignored: string | undefined;
  private take: ((text: string) => void) | undefined;
  private closeFrame: Closed | undefined;
  private over = false;
  private socket: Bun.Socket | undefined;
  /** Instead of the socket, for the HTTP transports. */
  private carrier: FallbackCarrier | undefined;

  private readonly server: Pick<Fanfare, 'port'>;

  private constructor(server: Pick<Fanfare, 'port'>) {
    this.server = server;
    this.closed = this.ended.promise;
  }

  /** Opens a connection and completes the handshake. */
  static async open(
    server: Pick<Fanfare, 'port'>,
    options: RawClientOptions = {},
  ): Promise<RawClient> {
    const client = new RawClient(server);
    client.ignored = options.ignores;
    const transport = options.transport ?? TRANSPORT;
    const path = options.path ?? pathOf(options.protocol);
    // Headers and unread bytes are matters of one connection.
    if (transport !== 'ws' && options.headers === undefined && options.deaf !== true) {
      client.openSession(transport, path);
      return client;
    }
    client.socket = await Bun.connect({
      hostname: '127.0.0.1',
      port: server.port,
      socket: {
        data: (_, bytes) => client.takeBytes(bytes),
        drain: () => client.flush(),
        close: () => client.end(),
        error: () => client.end(),
      },
    });
    const headers = Object.entries(options.headers ?? {}).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    client.writeBytes(
      Buffer.from(
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n` +
          'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n' +
          `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${headers.join('')}\r\n`,
      ),
    );
    await client.waiting.until(
      () => client.responseHead !== '' || client.over,
      'the answer to the handshake',
    );
    if (options.deaf === true) client.pauseReading();
    return client;
  }

  /** Opens a connection and reads its first message; returns its socket id too. */
  static async connect(
    server: Pick<Fanfare, 'port'>,
    options: RawClientOptions = {},
  ): Promise<RawClient & { socketId: string }> {
    const client = await RawClient.open(server, options);
    const established = await client.receive();
    if (established.event !== 'pusher:connection_established') {
      throw new Error(`Not established: ${JSON.stringify(established)}`);
    }
    const { socket_id: socketId } = JSON.parse(String(established.data));
    return Object.assign(client, { socketId });
  }

  /** Sends one text frame: a message, or any text. */
  send(message: object | string): void {
    const text = typeof message === 'string' ? message : JSON.stringify(message);
    if (this.carrier === undefined) this.writeBytes(clientFrame(1, text));
    else this.carrier.send(text);
  }

  /** Sends several messages in one piece. */
  sendTogether(messages: readonly (object | string)[]): void {
    const texts = messages.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
    if (this.carrier === undefined) {
      this.writeBytes(Buffer.concat(texts.map((text) => clientFrame(1, text))));
    } else {
      this.carrier.send(...texts);
    }
  }

  /** Closes the connection as a client does that goes away. The server has removed it when this settles. */
  async leave(): Promise<Closed> {
    if (this.carrier === undefined) this.writeBytes(CLOSE_1000);
    else await this.carrier.leave();
    return this.closed;
  }

  /** Sends any bytes, in order. Bytes that the system does not take at once are sent later. */
  writeBytes(bytes: Uint8Array): void {
    if (this.carrier !== undefined) throw new Error('Only a WebSocket has bytes of its own');
    const idle = this.unsent.length === 0;
    this.unsent.push(bytes);
    if (idle) this.flush();
  }

  private flush(): void {
    for (let bytes = this.unsent[0]; bytes !== undefined; bytes = this.unsent[0]) {
      const sent = this.socket?.write(bytes) ?? 0;
      if (sent < 0) {
        this.unsent.length = 0; // The connection is gone, and what was to go with it.
      } else if (sent < bytes.length) {
        this.unsent[0] = bytes.subarray(sent);
        return;
      } else {
        this.unsent.shift();
      }
    }
  }

  /** The next frame's text. Fails when none comes, or the connection ends first. */
  async receiveText(): Promise<string> {
    await this.waiting.until(() => this.frames.length > 0 || this.over, 'a frame');
    const frame = this.frames.shift();
    if (frame === undefined) {
      throw new Error(
        `The connection ended instead of a frame: ${JSON.stringify(this.closeFrame)}`,
      );
    }
    return frame;
  }

  /** The next frame, parsed. */
  async receive(): Promise<ReceivedEvent> {
    return JSON.parse(await this.receiveText());
  }

  /** Gives the text of each frame to a function from now on, instead of to `receive`. */
  handOver(take: (text: string) => void): void {
    this.take = take;
    for (const frame of this.frames.splice(0)) take(frame);
  }

  /** Fails if anything was sent to this client before now: what the server answers next must be a pong. */
  async receiveNothing(): Promise<void> {
    await this.serverSettled();
    await this.ping();
  }

  /** Sends a ping, and fails unless a pong is what comes next. */
  async ping(): Promise<void> {
    this.send({ event: 'pusher:ping', data: {} });
    const next = await this.receiveText();
    if (next !== '{"event":"pusher:pong","data":"{}"}') throw new Error(`Received ${next}`);
  }

  /** Settles when all threads of the server have handled what came before, and sent what followed from it. */
  async serverSettled(): Promise<void> {
    await threadsSettled(this.server);
  }

  /** Subscribes to a public channel, or to another with what its backend signed, and receives the confirmation. */
  async subscribe(
    channel: string,
    auth?: { auth: string; channel_data?: string },
  ): Promise<ReceivedEvent> {
    this.send({ event: 'pusher:subscribe', data: { channel, auth: '', ...auth } });
    const received = await this.receive();
    if (received.event !== 'pusher_internal:subscription_succeeded') {
      throw new Error(`Not subscribed to ${channel}: ${JSON.stringify(received)}`);
    }
    return received;
  }

  /** The payload of the next WebSocket pong. */
  async receivePong(): Promise<string> {
    await this.waiting.until(() => this.pongs.length > 0 || this.over, 'a pong');
    return this.pongs.shift() ?? '';
  }

  /** Ends its own direction of the connection, without a close frame. */
  endWriting(): void {
    this.socket?.shutdown();
  }

  /** Reads nothing from now on. */
  pauseReading(): void {
    this.socket?.pause();
  }

  /** Reads again after `deaf` or `pauseReading`. */
  resumeReading(): void {
    this.socket?.resume();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.carrier?.terminate();
    this.socket?.terminate();
    this.end();
  }

  private openSession(transport: FallbackTransportName, target: string): void {
    const [path = '', query = ''] = target.split('?');
    this.responseHead = 'HTTP/1.1 200 OK';
    this.carrier = new FallbackCarrier({
      port: this.server.port,
      transport,
      path,
      query,
      received: (frame) => {
        this.arrived(frame);
        this.waiting.wake();
      },
      closed: (closed) => {
        if (closed.code !== undefined) this.closeFrame = closed;
        this.end();
      },
    });
  }

  private takeBytes(bytes: Uint8Array): void {
    this.buffer = Buffer.concat([this.buffer, bytes]);
    if (this.responseHead === '') {
      const end = this.buffer.indexOf('\r\n\r\n');
      if (end < 0) return;
      this.responseHead = this.buffer.subarray(0, end).toString('latin1');
      this.buffer = this.buffer.subarray(end + 4);
    }
    while (this.readFrame());
    this.waiting.wake();
  }

  private readFrame(): boolean {
    const { buffer } = this;
    if (buffer.length < 2) return false;
    let length = (buffer[1] ?? 0) & 0x7f;
    let start = 2;
    if (length === 126) {
      if (buffer.length < 4) return false;
      length = buffer.readUInt16BE(2);
      start = 4;
    } else if (length === 127) {
      if (buffer.length < 10) return false;
      length = Number(buffer.readBigUInt64BE(2));
      start = 10;
    }
    if (buffer.length < start + length) return false;
    const payload = this.payloadOf(buffer[0] ?? 0, buffer.subarray(start, start + length));
    this.receivedBytes += start + length;
    const opcode = (buffer[0] ?? 0) & 0x0f;
    if (opcode === 1) this.arrived(payload.toString('utf8'));
    else if (opcode === 9)
      this.arrived(JSON.stringify({ event: WS_PING, data: payload.toString() }));
    else if (opcode === 10) this.pongs.push(payload.toString('utf8'));
    else if (opcode === 8) {
      this.closeFrame = {
        code: payload.length < 2 ? undefined : payload.readUInt16BE(0),
        reason: payload.subarray(2).toString('utf8'),
      };
    }
    this.buffer = buffer.subarray(start + length);
    return true;
  }

  /** Inflates what the first byte of its frame calls compressed. Source: RFC 7692, §7.2.2. */
  private payloadOf(first: number, bytes: Buffer): Buffer {
    if ((first & COMPRESSED) === 0) return bytes;
    this.compressedFrames++;
    const { Z_SYNC_FLUSH } = constants;
    return inflateRawSync(Buffer.concat([bytes, DEFLATE_END]), { finishFlush: Z_SYNC_FLUSH });
  }

  private arrived(frame: string): void {
    if (this.ignored !== undefined && JSON.parse(frame).event === this.ignored) return;
    if (this.take === undefined) this.frames.push(frame);
    else this.take(frame);
  }

  private end(): void {
    if (this.over) return;
    this.over = true;
    this.ended.resolve(this.closeFrame ?? { code: undefined, reason: '' });
    this.waiting.wake();
  }
}
