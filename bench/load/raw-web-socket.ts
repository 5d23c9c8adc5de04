import type { AppAddress } from '../bench-app.ts';
import { clientFrame, FrameScanner, type FrameSink, opcodes } from './frames.ts';
import type { ConnectionOptions, ConnectionOwner, KernelSockets } from './kernel-sockets.ts';

/** A WebSocket connection, made by hand on a TCP connection. */
export abstract class RawWebSocket implements ConnectionOwner, FrameSink {
  /** When it began to connect. Milliseconds of `performance.now()`. */
  readonly startedMs = performance.now();
  protected readonly scanner = new FrameScanner();
  private readonly sockets: KernelSockets;
  private readonly fd: number;
  /** What has arrived of the answer to the handshake; `undefined` once it is complete. */
  private handshake: Buffer | undefined = Buffer.alloc(0);
  private isOver = false;

  /** Connects to a server at an IPv4 address, and begins the handshake. */
  constructor(sockets: KernelSockets, app: AppAddress, options?: ConnectionOptions) {
    this.sockets = sockets;
    this.fd = sockets.connect(app.host, app.port, this, options);
    sockets.send(this.fd, upgradeRequest(app));
  }

  /** Sends one whole frame. */
  send(frame: Uint8Array): void {
    this.sockets.send(this.fd, frame);
  }

  received(bytes: Buffer, length: number): void {
    if (this.handshake === undefined) this.readFrames(bytes, length);
    else this.readHandshake(Buffer.concat([this.handshake, bytes.subarray(0, length)]));
  }

  closed(): void {
    this.lost('the connection was closed');
  }

  frame(opcode: number, bytes: Buffer, start: number, end: number): void {
    // The rest of a read, after the frame that ended the connection.
    if (this.isOver) return;
    if (opcode === opcodes.text) {
      this.readText(bytes, start, end);
    } else if (opcode === opcodes.ping) {
      this.send(clientFrame(opcodes.pong, bytes.subarray(start, end)));
    } else if (opcode === opcodes.close) {
      const code = end - start < 2 ? 'no code' : bytes.readUInt16BE(start);
      this.end(`the server closed with ${code} ${bytes.toString('latin1', start + 2, end)}`);
    }
  }

  /** Ends the connection without a close frame, and reports it as lost. */
  protected end(why: string): void {
    this.isOver = true;
    this.sockets.close(this.fd);
    this.lost(why);
  }

  protected readFrames(bytes: Buffer, length: number): void {
    this.scanner.scan(bytes, length, this);
  }

  /** Reads a message of the server, `bytes[start..end)`. They are valid during the call. */
  protected abstract readText(bytes: Buffer, start: number, end: number): void;

  /** The server refused the handshake or ended the connection. */
  protected abstract lost(why: string): void;

  private readHandshake(bytes: Buffer): void {
    const end = bytes.indexOf('\r\n\r\n');
    if (end < 0) {
      this.handshake = bytes;
      return;
    }
    const status = bytes.toString('latin1', 9, 12);
    if (status !== '101') return this.end(`the upgrade was answered with ${status}`);
    this.handshake = undefined;
    const rest = bytes.subarray(end + 4);
    this.scanner.scan(rest, rest.length, this);
  }
}

/**
 * Builds the bytes of the handshake. RFC 6455, section 4.1. The key is always the same: it distinguishes servers from
 * proxies, which is not tested here.
 */
export function upgradeRequest({ host, port, key }: AppAddress): Uint8Array {
  return Buffer.from(
    `GET /app/${key}?protocol=7&client=fanfare-bench&version=1 HTTP/1.1\r\n` +
      `Host: ${host}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      'Sec-WebSocket-Key: ZmFuZmFyZSBiZW5jaG1hcg==\r\nSec-WebSocket-Version: 13\r\n\r\n',
  );
}
