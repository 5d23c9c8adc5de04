import type { AppAddress } from '../../bench-app.ts';
import { clientMessage } from '../frames.ts';
import type { KernelSockets } from '../kernel-sockets.ts';
import { RawWebSocket } from '../raw-web-socket.ts';
import { socketIdIn } from '../subscribe-message.ts';

const SUCCEEDED = Buffer.from('{"event":"pusher_internal:subscription_succeeded"');
const MEMBER = Buffer.from('{"event":"pusher_internal:member_');

/** A connection that enters one channel and leaves it again, and only counts how it is answered. */
export class RoamingClient extends RawWebSocket {
  readonly channel: string;
  /** Empty until the server has accepted the connection. */
  socketId = '';
  /** Whether it has entered, and not left since. */
  isInside = false;
  isLost = false;
  answers = 0;
  refusals = 0;
  firstRefusal = '';

  constructor(sockets: KernelSockets, app: AppAddress, channel: string) {
    super(sockets, app);
    this.channel = channel;
  }

  /** Starts counting from zero. */
  count(): void {
    this.answers = 0;
    this.refusals = 0;
    this.firstRefusal = '';
  }

  override send(frame: Uint8Array): void {
    if (!this.isLost) super.send(frame);
  }

  protected lost(why: string): void {
    this.isLost = true;
    this.refused(why);
  }

  protected readText(bytes: Buffer, start: number, end: number): void {
    if (startsWith(bytes, start, end, MEMBER)) return;
    if (startsWith(bytes, start, end, SUCCEEDED)) {
      this.answers += 1;
      return;
    }
    // Any other layout of the same message, and everything that is rare.
    const text = bytes.toString('latin1', start, end);
    if (text.includes('pusher_internal:subscription_succeeded')) this.answers += 1;
    else if (text.includes('pusher:connection_established')) this.socketId = socketIdIn(text);
    else if (text.includes('"pusher:ping"'))
      this.send(clientMessage({ event: 'pusher:pong', data: {} }));
    else if (text.includes('"pusher:error"')) this.refused(text);
  }

  private refused(why: string): void {
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
