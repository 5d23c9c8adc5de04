import { type BodyEnd, ResponseBody } from './response-body.ts';

export interface StreamEvents {
  /** Nothing more will be written. Called once. */
  last(): void;
  /** The response has ended, after `last`. Called once. */
  gone(how: BodyEnd): void;
}

/** A response that stays open and is written to from time to time. */
export class StreamResponse {
  readonly response: Response;
  private readonly events: StreamEvents;
  private readonly body: ResponseBody;
  private isLast = false;

  /** `signal`: that of the request. */
  constructor(signal: AbortSignal, headers: Headers, events: StreamEvents) {
    this.events = events;
    this.body = new ResponseBody((how) => {
      this.last();
      events.gone(how);
    });
    this.response = new Response(this.body.stream, { headers });
    signal.addEventListener('abort', () => this.body.gone(), { once: true });
  }

  write(text: string): void {
    this.body.write(text);
  }

  /** Ends the response after what was written. */
  end(): void {
    this.last();
    this.body.end();
  }

  /** Breaks the connection without waiting for the client. */
  break(): void {
    this.body.break();
  }

  /** Bytes that were written and that the socket has not taken, also after the end. */
  waitingBytes(): number {
    return this.body.waitingBytes;
  }

  private last(): void {
    if (this.isLast) return;
    this.isLast = true;
    this.events.last();
  }
}
