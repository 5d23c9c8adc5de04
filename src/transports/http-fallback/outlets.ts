import { ANSWER_HEADERS, OPEN_TO_ALL } from './headers.ts';
import type { Outlet } from './receiver.ts';

/** A response that this loop writes. */
export interface LocalOutlet extends Outlet {
  readonly response: Response | Promise<Response>;
}

/** The answer to `xhr_streaming`: open until a line closes the session. `onGone` is called once when it has ended. */
export class StreamOutlet implements LocalOutlet {
  readonly response: Response;
  private readonly onGone: () => void;
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(signal: AbortSignal, onGone: () => void) {
    this.onGone = onGone;
    const gone = () => this.gone();
    const stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller;
        },
        cancel: gone,
      },
      new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
    );
    this.response = new Response(stream, { headers: ANSWER_HEADERS });
    signal.addEventListener('abort', gone, { once: true });
  }

  write(lines: string): void {
    this.controller?.enqueue(Buffer.from(lines));
  }

  end(): void {
    const { controller } = this;
    this.gone();
    controller?.close();
  }

  break(): void {
    const { controller } = this;
    this.gone();
    controller?.error(new Error('The session has ended'));
  }

  waitingBytes(): number {
    return Math.max(0, -(this.controller?.desiredSize ?? 0));
  }

  private gone(): void {
    if (this.controller === undefined) return;
    this.controller = undefined;
    this.onGone();
  }
}

/** The answer to a poll: the first write. */
export class PollOutlet implements LocalOutlet {
  readonly response: Promise<Response>;
  private readonly answer: (response: Response) => void;
  private readonly onGone: () => void;
  private isOver = false;

  constructor(signal: AbortSignal, onGone: () => void) {
    const { promise, resolve } = Promise.withResolvers<Response>();
    this.response = promise;
    this.answer = resolve;
    this.onGone = onGone;
    signal.addEventListener('abort', () => this.finish(nothing()), { once: true });
  }

  write(lines: string): void {
    this.finish(new Response(lines, { headers: ANSWER_HEADERS }));
  }

  end(): void {
    // A client that still reads here gives up its session instead of polling again at once.
    this.finish(nothing());
  }

  break(): void {
    this.finish(nothing());
  }

  waitingBytes(): number {
    return 0;
  }

  private finish(response: Response): void {
    if (this.isOver) return;
    this.isOver = true;
    this.answer(response);
    this.onGone();
  }
}

function nothing(): Response {
  return new Response(null, { status: 204, headers: OPEN_TO_ALL });
}
