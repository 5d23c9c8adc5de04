import { type BodyEnd, ResponseBody, SMALL_ANSWER } from '../response-body.ts';
import { ANSWER_HEADERS, OPEN_TO_ALL } from './headers.ts';
import type { Outlet } from './receiver.ts';

/** A response that this loop writes. */
export interface LocalOutlet extends Outlet {
  readonly response: Response | Promise<Response>;
}

export interface OutletEvents {
  /** Nothing more will be written. Called once. */
  last(): void;
  /** The response has ended, after `last`. Called once. */
  gone(how: BodyEnd): void;
}

/** The answer to `xhr_streaming`: open until a line closes the session. */
export class StreamOutlet implements LocalOutlet {
  readonly response: Response;
  private readonly events: OutletEvents;
  private readonly body: ResponseBody;
  private isLast = false;

  constructor(signal: AbortSignal, events: OutletEvents) {
    this.events = events;
    this.body = new ResponseBody((how) => {
      this.last();
      events.gone(how);
    });
    this.response = new Response(this.body.stream, { headers: ANSWER_HEADERS });
    signal.addEventListener('abort', () => this.body.gone(), { once: true });
  }

  write(lines: string): void {
    this.body.write(lines);
  }

  end(): void {
    this.last();
    this.body.end();
  }

  break(): void {
    this.body.break();
  }

  waitingBytes(): number {
    return this.body.waitingBytes;
  }

  private last(): void {
    if (this.isLast) return;
    this.isLast = true;
    this.events.last();
  }
}

/** The answer to a poll: the first write. */
export class PollOutlet implements LocalOutlet {
  readonly response: Promise<Response>;
  private readonly answer: (response: Response) => void;
  private readonly events: OutletEvents;
  private body: ResponseBody | undefined;
  private isAnswered = false;

  constructor(signal: AbortSignal, events: OutletEvents) {
    const { promise, resolve } = Promise.withResolvers<Response>();
    this.response = promise;
    this.answer = resolve;
    this.events = events;
    const gone = () => {
      this.end();
      this.body?.gone();
    };
    signal.addEventListener('abort', gone, { once: true });
  }

  write(lines: string): void {
    if (this.isAnswered) return;
    if (lines.length <= SMALL_ANSWER) return this.finish(answerOf(lines));
    this.isAnswered = true;
    this.events.last();
    this.body = new ResponseBody((how) => this.events.gone(how));
    this.body.write(lines);
    this.body.end();
    this.answer(answerOf(this.body.stream));
  }

  /** A client that still reads here gives up its session instead of polling again at once. */
  end(): void {
    if (!this.isAnswered) this.finish(new Response(null, { status: 204, headers: OPEN_TO_ALL }));
  }

  break(): void {
    this.end();
    this.body?.break();
  }

  waitingBytes(): number {
    return this.body?.waitingBytes ?? 0;
  }

  private finish(response: Response): void {
    this.isAnswered = true;
    this.answer(response);
    this.events.last();
    this.events.gone('taken');
  }
}

function answerOf(body: string | ReadableStream<Uint8Array>): Response {
  return new Response(body, { headers: ANSWER_HEADERS });
}
