import type { AppAddress } from '../../bench-app.ts';
import { clientFrame, clientMessage, FrameScanner, type FrameSink, opcodes } from '../frames.ts';
import type { ConnectionOwner, KernelSockets } from '../kernel-sockets.ts';
import { upgradeRequest } from '../subscriber.ts';

const SUCCEEDED = Buffer.from('{"event":"pusher_internal:subscription_succeeded"');
const MEMBER = Buffer.from('{"event":"pusher_internal:member_');

/** A connection that enters one channel and leaves it again, and only counts how it is answered. */
export class RoamingClient implements ConnectionOwner, FrameSink {
  readonly channel: string;
  /** Empty until the server has taken the connection. */
  socketId = '';
  /** Whether it has entered, and not left since. */
  isInside = false;
  isLost = false;
  answers = 0;
  refusals = 0;
  firstRefusal = '';
  readonly #sockets: KernelSockets;
  readonly #fd: number;
  readonly #scanner = new FrameScanner();
  #handshake: Buffer | undefined = Buffer.alloc(0);

  constructor(sockets: KernelSockets, app: AppAddress, channel: string) {
    this.channel = channel;
    this.#sockets = sockets;
    this.#fd = sockets.connect(app.host, app.port, this);
    sockets.send(this.#fd, upgradeRequest(app));
  }

  /** Starts counting from zero. */
  count(): void {
    this.answers = 0;
    this.refusals = 0;
    this.firstRefusal = '';
  }

  send(frame: Uint8Array): void {
    if (!this.isLost) this.#sockets.send(this.#fd, frame);
  }

  received(bytes: Buffer, length: number): void {
    if (this.#handshake === undefined) {
      this.#scanner.scan(bytes, length, this);
      return;
    }
    const begun = Buffer.concat([this.#handshake, bytes.subarray(0, length)]);
    const end = begun.indexOf('\r\n\r\n');
    this.#handshake = end < 0 ? begun : undefined;
    if (end < 0) return;
    const rest = begun.subarray(end + 4);
    this.#scanner.scan(rest, rest.length, this);
  }

  closed(): void {
    this.isLost = true;
    this.#refused('the connection was closed');
  }

  frame(opcode: number, bytes: Buffer, start: number, end: number): void {
    if (opcode === opcodes.ping) {
      this.send(clientFrame(opcodes.pong, bytes.subarray(start, end)));
      return;
    }
    if (opcode !== opcodes.text || startsWith(bytes, start, end, MEMBER)) return;
    if (startsWith(bytes, start, end, SUCCEEDED)) {
      this.answers += 1;
      return;
    }
    // Any other layout of the same message, and everything that is rare.
    const text = bytes.toString('latin1', start, end);
    if (text.includes('pusher_internal:subscription_succeeded')) this.answers += 1;
    else if (text.includes('pusher:connection_established'))
      this.socketId = /socket_id[^0-9]+([0-9.]+)/.exec(text)?.[1] ?? '';
    else if (text.includes('"pusher:ping"'))
      this.send(clientMessage({ event: 'pusher:pong', data: {} }));
    else if (text.includes('"pusher:error"')) this.#refused(text);
  }

  #refused(why: string): void {
    if (this.refusals === 0) this.firstRefusal = why;
    this.refusals += 1;
  }
}

function startsWith(bytes: Buffer, start: number, end: number, prefix: Buffer): boolean {
  return (
    end - start >= prefix.length &&
    bytes.compare(prefix, 0, prefix.length, start, start + prefix.length) === 0
  );
}
