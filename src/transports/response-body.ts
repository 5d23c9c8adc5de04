/** What the socket is given at once. Each piece shows that a slow client still reads. UTF-16 units. */
const PIECE_UNITS = 32_768;

/**
 * Text up to this length needs no counting: a connection holds at most one such answer besides what the kernel takes of it.
 * UTF-16 units.
 */
export const SMALL_ANSWER = 16_384;

/** How a body ended: the socket has taken all that was written, or the connection was closed before. */
export type BodyEnd = 'taken' | 'lost';

/**
 * The body of a response, whose bytes are counted until the socket has taken them. Of a response with a string, Bun does not
 * tell when that is.
 */
export class ResponseBody {
  readonly stream: ReadableStream<Uint8Array>;
  private readonly onEnd: (how: BodyEnd) => void;
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** What the socket was not given yet. It is encoded late, so that an unread answer takes its memory once. */
  private queue: string[] = [];
  private queuedBytes = 0;
  private givenBytes = 0;
  /** Whether Bun has asked for more than what was given. */
  private isAsked = false;
  /** Whether the socket has taken all that it was given. */
  private isReady = false;
  private isComplete = false;

  /** `onEnd` is called once. */
  constructor(onEnd: (how: BodyEnd) => void) {
    this.onEnd = onEnd;
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller;
        },
        pull: () => this.asked(),
        cancel: () => this.gone(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
    );
  }

  /** Bytes that the socket has not taken. */
  get waitingBytes(): number {
    return this.queuedBytes + this.givenBytes;
  }

  write(text: string): void {
    if (this.controller === undefined) return;
    this.queue.push(text);
    this.queuedBytes += Buffer.byteLength(text);
    if (this.isReady) this.give();
  }

  /** Ends the response after what was written. */
  end(): void {
    this.isComplete = true;
    if (this.isReady) this.close();
  }

  /** Closes the connection at once. */
  break(): void {
    const { controller } = this;
    this.finish('lost');
    controller?.error(new Error('The response was broken off'));
  }

  /** Must be called when the connection is gone, in case Bun has not begun to read the body. */
  gone(): void {
    this.finish(this.queuedBytes === 0 && this.isAsked ? 'taken' : 'lost');
  }

  /** Bun asks for more. It writes what it has at the end of the turn, and only then knows whether the socket has taken that. */
  private asked(): void {
    this.isAsked = true;
    if (this.givenBytes === 0) this.ready();
    else setImmediate(() => this.ready());
  }

  private ready(): void {
    if (this.controller === undefined) return;
    this.givenBytes = 0;
    this.isReady = true;
    if (this.queuedBytes > 0) this.give();
    else if (this.isComplete) this.close();
  }

  private give(): void {
    const piece = Buffer.from(this.nextPiece());
    this.isAsked = false;
    this.isReady = false;
    this.queuedBytes -= piece.length;
    this.givenBytes = piece.length;
    this.controller?.enqueue(piece);
  }

  /** Takes as much of what is queued as makes one piece. */
  private nextPiece(): string {
    const [first = ''] = this.queue;
    if (first.length > PIECE_UNITS) {
      const end = isHighSurrogate(first, PIECE_UNITS - 1) ? PIECE_UNITS - 1 : PIECE_UNITS;
      this.queue[0] = first.slice(end);
      return first.slice(0, end);
    }
    let count = 0;
    let units = 0;
    for (const { length } of this.queue) {
      units += length;
      if (units > PIECE_UNITS) break;
      count++;
    }
    return this.queue.splice(0, count).join('');
  }

  private close(): void {
    const { controller } = this;
    this.finish('taken');
    controller?.close();
  }

  private finish(how: BodyEnd): void {
    if (this.controller === undefined) return;
    this.controller = undefined;
    this.queue = [];
    this.queuedBytes = 0;
    this.givenBytes = 0;
    this.onEnd(how);
  }
}

/** Whether a character begins there that needs a second unit. */
function isHighSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xd800 && unit < 0xdc00;
}
