import { createHash, randomBytes } from 'node:crypto';
import type { Endpoint } from '../target.ts';
import { Bell } from './bell.ts';
import {
  clientPath,
  isPing,
  pong,
  readServerMessage,
  type ServerMessage,
} from './client-messages.ts';
import { exchange, type HttpAnswer, type HttpResult } from './http-exchange.ts';
import type { Link } from './link.ts';
import { clientFrame, opcodes, readFrame } from './websocket-frames.ts';

/** How a connection ended: the server's close code, or without one (1006). */
export interface Ending {
  readonly code: number;
  readonly reason: string;
}

/** A message, and the moment of `performance.now()` when it came. */
interface Arrived {
  readonly message: ServerMessage;
  readonly atMs: number;
}

/** What came while something was waited for. */
export type Heard =
  | { readonly kind: 'message'; readonly message: ServerMessage; readonly atMs: number }
  | { readonly kind: 'ended'; readonly ending: Ending }
  | { readonly kind: 'nothing' };

/** The number that every WebSocket server mixes into its answer. Source: RFC 6455, §1.3. */
const HANDSHAKE_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** Messages kept until someone asks for them; the oldest are forgotten. */
const MESSAGES_MAX = 1000;
const NO_CLOSE_FRAME: Ending = { code: 1006, reason: '' };

/** Asks for a WebSocket, and gives what was answered. */
export async function askForWebSocket(
  link: Link,
  { host, prefix }: Endpoint,
  key: string,
  timeoutMs: number,
): Promise<{ readonly result: HttpResult; readonly expectedAccept: string }> {
  const nonce = randomBytes(16).toString('base64');
  const result = await exchange(
    link,
    {
      method: 'GET',
      target: clientPath(prefix, key),
      host,
      headers: {
        Upgrade: 'websocket',
        Connection: 'Upgrade',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': nonce,
      },
    },
    timeoutMs,
  );
  const expectedAccept = createHash('sha1')
    .update(nonce + HANDSHAKE_GUID)
    .digest('base64');
  return { result, expectedAccept };
}

export function isAccepted(answer: HttpAnswer, expectedAccept: string): boolean {
  return answer.headers.get('sec-websocket-accept') === expectedAccept;
}

/** One open WebSocket. Answers the server's pings of both kinds, as every client does. */
export class Conversation implements Disposable {
  private messages: Arrived[] = [];
  private pongs = 0;
  private ended: Ending | undefined;
  private readonly bell = new Bell();
  private readonly link: Link;

  /** Takes over a link on which the handshake was accepted. */
  constructor(link: Link) {
    this.link = link;
    void this.listen();
  }

  says(text: string): void {
    this.link.write(clientFrame(opcodes.text, Buffer.from(text)));
  }

  get ending(): Ending | undefined {
    return this.ended;
  }

  /** The first message, past or to come, that matches; it is taken, and those before it stay. */
  async hears(match: (message: ServerMessage) => boolean, timeoutMs: number): Promise<Heard> {
    const deadlineMs = performance.now() + timeoutMs;
    for (;;) {
      const arrived = this.messages.find(({ message }) => match(message));
      if (arrived !== undefined) {
        this.messages = this.messages.filter((other) => other !== arrived);
        return { kind: 'message', ...arrived };
      }
      if (this.ended !== undefined) return { kind: 'ended', ending: this.ended };
      if (performance.now() >= deadlineMs) return { kind: 'nothing' };
      await this.bell.heardBefore(deadlineMs);
    }
  }

  /** Whether a message that matches is there and not yet taken. */
  hasHeard(match: (message: ServerMessage) => boolean): boolean {
    return this.messages.some(({ message }) => match(message));
  }

  /** Sends a ping of WebSocket itself; gives whether its pong came. */
  async pings(timeoutMs: number): Promise<boolean> {
    const before = this.pongs;
    const deadlineMs = performance.now() + timeoutMs;
    this.link.write(clientFrame(opcodes.ping, Buffer.from('fanfare-doctor')));
    while (this.pongs === before && this.ended === undefined && performance.now() < deadlineMs) {
      await this.bell.heardBefore(deadlineMs);
    }
    return this.pongs > before;
  }

  /** Closes with 1000; gives how it ended, or `undefined` where the server does not answer. */
  async closes(timeoutMs: number): Promise<Ending | undefined> {
    this.link.write(clientFrame(opcodes.close, Buffer.from([1000 >> 8, 1000 & 255])));
    const deadlineMs = performance.now() + timeoutMs;
    while (this.ended === undefined && performance.now() < deadlineMs) {
      await this.bell.heardBefore(deadlineMs);
    }
    return this.ended;
  }

  [Symbol.dispose](): void {
    this.link[Symbol.dispose]();
  }

  private async listen(): Promise<void> {
    let fragments: Buffer[] = [];
    while (this.ended === undefined) {
      const come = await this.link.has(
        (unread) => readFrame(unread) !== undefined,
        Number.POSITIVE_INFINITY,
      );
      const read = readFrame(this.link.waiting);
      if (come !== true || read === undefined) {
        this.ended ??= NO_CLOSE_FRAME;
        break;
      }
      this.link.take(read.bytes);
      const { opcode, payload, final } = read.frame;
      switch (opcode) {
        case opcodes.ping:
          this.link.write(clientFrame(opcodes.pong, payload));
          break;
        case opcodes.pong:
          this.pongs++;
          break;
        case opcodes.close:
          this.ended = {
            code: payload.length >= 2 ? payload.readUInt16BE(0) : 1005,
            reason: payload.toString('utf8', 2),
          };
          break;
        default:
          fragments.push(payload);
          if (final) {
            this.receive(Buffer.concat(fragments).toString('utf8'));
            fragments = [];
          }
      }
      this.bell.ring();
    }
    this.bell.ring();
  }

  private receive(text: string): void {
    const message = readServerMessage(text) ?? { event: '', data: text };
    if (isPing(message)) this.says(pong);
    else this.messages.push({ message, atMs: performance.now() });
    if (this.messages.length > MESSAGES_MAX) this.messages.shift();
  }
}
