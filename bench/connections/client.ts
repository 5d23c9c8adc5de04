import type { AppAddress } from '../bench-app.ts';
import {
  clientFrame,
  clientMessage,
  FrameScanner,
  type FrameSink,
  opcodes,
} from '../load/frames.ts';
import type { ConnectionOwner, KernelSockets } from '../load/kernel-sockets.ts';
import type { Subscriptions } from './subscriptions.ts';

const PONG = clientMessage({ event: 'pusher:pong', data: {} });
/** Code 1000: a client that has finished. RFC 6455, section 7.4.1. */
const GOODBYE = clientFrame(opcodes.close, Uint8Array.of(0x03, 0xe8));

/** What clients report to. */
export interface ClientOwner {
  /** The server has confirmed everything it wished for. */
  subscribed(client: BenchClient): void;
  /** It said goodbye, and the server has ended the connection. */
  left(client: BenchClient): void;
  /** It was refused, or its connection ended before it wanted to leave. */
  lost(client: BenchClient, why: string): void;
}

/** Where clients go, and what they say there first. */
export interface Destination {
  /** `host` is an IPv4 address. */
  readonly app: AppAddress;
  readonly sockets: KernelSockets;
  readonly owner: ClientOwner;
  readonly upgrade: Uint8Array;
}

/**
 * Builds the bytes of the handshake. The key is the same for all: it is there to tell proxies from servers,
 * and a random one for each would only cost the load its time.
 */
export function upgradeRequest({ host, port, key }: AppAddress): Uint8Array {
  return Buffer.from(
    `GET /app/${key}?protocol=7&client=fanfare-bench&version=1 HTTP/1.1\r\n` +
      `Host: ${host}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      'Sec-WebSocket-Key: ZmFuZmFyZSBiZW5jaG1hcg==\r\nSec-WebSocket-Version: 13\r\n\r\n',
  );
}

/** A WebSocket connection, made by hand on a TCP connection, that does no more than it must to be subscribed. */
export class BenchClient implements ConnectionOwner, FrameSink {
  /** When it began to connect. Milliseconds of `performance.now()`. */
  readonly startedMs = performance.now();
  readonly #destination: Destination;
  readonly #subscriptions: Subscriptions;
  readonly #fd: number;
  readonly #scanner = new FrameScanner();
  #stage: 'upgrading' | 'subscribing' | 'leaving' | 'over' = 'upgrading';
  /** What there is of the answer to the handshake. */
  #head: Buffer | undefined;
  #confirmed = 0;

  constructor(destination: Destination, subscriptions: Subscriptions) {
    const { app, sockets, upgrade } = destination;
    this.#destination = destination;
    this.#subscriptions = subscriptions;
    this.#fd = sockets.connect(app.host, app.port, this);
    sockets.send(this.#fd, upgrade);
  }

  /** Says goodbye with a close frame, and leaves it to the server to end the connection, as RFC 6455 has it. */
  leave(): void {
    this.#stage = 'leaving';
    this.#destination.sockets.send(this.#fd, GOODBYE);
  }

  /** Is gone without a word, as when a network ends; nothing is reported. */
  drop(): void {
    this.#stage = 'over';
    this.#destination.sockets.close(this.#fd);
  }

  received(bytes: Buffer, length: number): void {
    if (this.#stage === 'upgrading') this.#readHead(bytes.subarray(0, length));
    else this.#scanner.scan(bytes, length, this);
  }

  closed(): void {
    if (this.#stage === 'leaving') this.#destination.owner.left(this);
    else this.#destination.owner.lost(this, 'the server ended the connection');
    this.#stage = 'over';
  }

  frame(opcode: number, bytes: Buffer, start: number, end: number): void {
    if (this.#stage === 'over') return;
    const { sockets } = this.#destination;
    if (opcode === opcodes.text) this.#readMessage(bytes.toString('latin1', start, end));
    else if (opcode === opcodes.ping) {
      sockets.send(this.#fd, clientFrame(opcodes.pong, bytes.subarray(start, end)));
    } else if (opcode === opcodes.close && this.#stage !== 'leaving') {
      const code = end - start < 2 ? 'no code' : bytes.readUInt16BE(start);
      this.#end(`the server closed with ${code} ${bytes.toString('latin1', start + 2, end)}`);
    }
  }

  #readHead(chunk: Buffer): void {
    const bytes = this.#head === undefined ? chunk : Buffer.concat([this.#head, chunk]);
    const end = bytes.indexOf('\r\n\r\n');
    if (end < 0) {
      // Copied, since the bytes are only ours during the call.
      this.#head = Buffer.from(bytes);
      return;
    }
    const status = bytes.toString('latin1', 9, 12);
    if (status !== '101') return this.#end(`the upgrade was answered with ${status}`);
    this.#head = undefined;
    this.#stage = 'subscribing';
    const rest = bytes.subarray(end + 4);
    this.#scanner.scan(rest, rest.length, this);
  }

  /** Told apart by the names alone: a parser would cost the load more than all else that it does here. */
  #readMessage(text: string): void {
    const { sockets, owner } = this.#destination;
    if (text.includes('"pusher_internal:subscription_succeeded"')) {
      this.#confirmed += 1;
      if (this.#confirmed === this.#subscriptions.channels) owner.subscribed(this);
    } else if (text.includes('"pusher:connection_established"')) {
      sockets.send(this.#fd, this.#subscriptions.frames(text));
    } else if (text.includes('"pusher:ping"')) {
      sockets.send(this.#fd, PONG);
    } else if (text.includes('"pusher:error"') || text.includes('"pusher:subscription_error"')) {
      this.#end(text);
    }
    // Whatever else a server tells its subscribers, such as a count, changes nothing here.
  }

  #end(why: string): void {
    this.drop();
    this.#destination.owner.lost(this, why);
  }
}
