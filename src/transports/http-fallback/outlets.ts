import { ResponseBody, SMALL_ANSWER } from '../response-body.ts';
import { type StreamEvents, StreamResponse } from '../stream-response.ts';
import { ANSWER_HEADERS, OPEN_TO_ALL } from './headers.ts';
import type { Outlet } from './receiver.ts';

/** A response that this loop writes. */
export interface LocalOutlet extends Outlet {
  readonly response: Response | Promise<Response>;
}

/** The answer to `xhr_streaming`: open until a line closes the session. */
export class StreamOutlet extends StreamResponse implements LocalOutlet {
  constructor(signal: AbortSignal, events: StreamEvents) {
    super(signal, ANSWER_HEADERS, events);
  }
}

/** The answer to a poll: the first write. */
export class PollOutlet implements LocalOutlet {
  readonly response: Promise<Response>;
  private readonly answer: (response: Response) => void;
  private readonly events: StreamEvents;
  private body: ResponseBody | undefined;
  private isAnswered = false;

  constructor(signal: AbortSignal, events: StreamEvents) {
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
