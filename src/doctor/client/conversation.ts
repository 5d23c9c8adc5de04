import { createHash, randomBytes } from 'node:crypto';
import type { TargetAddress } from '../target.ts';
import { isPing, pong, readServerMessage, type ServerMessage } from './client-messages.ts';
import { exchange, type HttpAnswer, type HttpResult } from './http-exchange.ts';
import { type Ending, Inbox, NO_CLOSE_FRAME, type ReceivedMessage } from './inbox.ts';
import type { Link } from './link.ts';
import { clientFrame, opcodes, readFrame } from './websocket-frames.ts';

/** The number that every WebSocket server mixes into its answer. Source: RFC 6455, §1.3. */
const HANDSHAKE_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** Requests a WebSocket at a path, and returns the answer. */
export async function askForWebSocket(
  link: Link,
  { host }: TargetAddress,
  target: string,
  timeoutMs: number,
): Promise<{ readonly result: HttpResult; readonly expectedAccept: string }> {
  const nonce = randomBytes(16).toString('base64');
  const result = await exchange(
    link,
    {
      method: 'GET',
      target,
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

/** Gets what a server sends at once, in place of the inbox, which forgets the oldest messages. */
export interface Listener {
  hear(message: ServerMessage): void;
  end(ending: Ending): void;
}

/** One open WebSocket. Answers the server's pings of both kinds, as every client does. */
export class Conversation implements Disposable {
  private readonly inbox = new Inbox();
  private pongs = 0;
  private readonly link: Link;
  private readonly listener: Listener | undefined;

  /** Uses a link whose handshake was accepted. */
  constructor(link: Link, listener?: Listener) {
    this.link = link;
    this.listener = listener;
    void this.listen();
  }

  send(text: string): void {
    this.link.write(clientFrame(opcodes.text, Buffer.from(text)));
  }

  get ending(): Ending | undefined {
    return this.inbox.ending;
  }

  /** The first message, past or to come, that matches; it is taken, and those before it stay. */
  receives(
    match: (message: ServerMessage) => boolean,
    timeoutMs: number,
  ): Promise<ReceivedMessage> {
    return this.inbox.receives(match, timeoutMs);
  }

  /** Whether there is an unread message that matches. */
  hasHeard(match: (message: ServerMessage) => boolean): boolean {
    return this.inbox.hasHeard(match);
  }

  /** Sends a ping of WebSocket itself; gives whether its pong came. */
  async ping(timeoutMs: number): Promise<boolean> {
    const before = this.pongs;
    const deadlineMs = performance.now() + timeoutMs;
    this.link.write(clientFrame(opcodes.ping, Buffer.from('fanfare-doctor')));
    while (this.pongs === before && this.ending === undefined && performance.now() < deadlineMs) {
      await this.inbox.bell.heardBefore(deadlineMs);
    }
    return this.pongs > before;
  }

  /** Closes with 1000. Returns how the connection ended, or `undefined` if the server does not answer. */
  async closes(timeoutMs: number): Promise<Ending | undefined> {
    this.link.write(clientFrame(opcodes.close, Buffer.from([1000 >> 8, 1000 & 255])));
    const deadlineMs = performance.now() + timeoutMs;
    while (this.ending === undefined && performance.now() < deadlineMs) {
      await this.inbox.bell.heardBefore(deadlineMs);
    }
    return this.ending;
  }

  [Symbol.dispose](): void {
    this.link[Symbol.dispose]();
  }

  private async listen(): Promise<void> {
    let fragments: Buffer[] = [];
    while (this.ending === undefined) {
      const come = await this.link.has(
        (unread) => readFrame(unread) !== undefined,
        Number.POSITIVE_INFINITY,
      );
      const read = readFrame(this.link.waiting);
      if (come !== true || read === undefined) {
        this.inbox.end(NO_CLOSE_FRAME);
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
          this.inbox.end({
            code: payload.length >= 2 ? payload.readUInt16BE(0) : 1005,
            reason: payload.toString('utf8', 2),
          });
          break;
        default:
          fragments.push(payload);
          if (final) {
            this.receive(Buffer.concat(fragments).toString('utf8'));
            fragments = [];
          }
      }
      this.inbox.bell.ring();
    }
    this.inbox.bell.ring();
    this.listener?.end(this.ending ?? NO_CLOSE_FRAME);
  }

  private receive(text: string): void {
    const message = readServerMessage(text) ?? { event: '', data: text };
    if (isPing(message)) this.send(pong);
    else if (this.listener === undefined) this.inbox.add(message);
    else this.listener.hear(message);
  }
}
