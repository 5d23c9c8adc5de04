import type { Timers } from '../http2/timers.ts';
import type { WebPushResult } from './web-push-answer.ts';
import type { WebPushRequest } from './web-push-request.ts';

/** Sends one request over HTTP/1.1, to an address that its maker has checked; follows no redirect, never throws. */
export type SendOverHttp1 = (request: {
  readonly url: string;
  readonly method: 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
  /** Gives up early: `unreachable`, "aborted". */
  readonly signal: AbortSignal;
}) => Promise<
  | {
      readonly result: 'answered';
      readonly status: number;
      readonly headers: Headers;
      readonly body: Uint8Array;
    }
  | { readonly result: 'timeout' }
  | { readonly result: 'unreachable'; readonly why: string }
  | { readonly result: 'not-allowed'; readonly why: string }
>;

export interface Http1LaneOptions {
  readonly send: SendOverHttp1;
  readonly timers: Timers;
  /** From `send` to the answer, waiting included. */
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
}

/** Requests under way to one push service, each of which holds a connection. */
const AT_ONCE = 64;

/** The way to one push service that speaks no HTTP/2. */
export class Http1Lane {
  private readonly origin: string;
  private readonly options: Http1LaneOptions;
  private readonly stop = new AbortController();
  private underWay = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(origin: string, options: Http1LaneOptions) {
    this.origin = origin;
    this.options = options;
  }

  async send({ path, fields, body }: WebPushRequest): Promise<WebPushResult> {
    const { timers, answerBytesMax } = this.options;
    const endsAtMs = timers.now() + this.options.timeoutMs;
    await this.enter();
    try {
      const timeoutMs = endsAtMs - timers.now();
      if (timeoutMs <= 0) return { result: 'not-answered', reason: 'not-in-time' };
      const answer = await this.options.send({
        url: this.origin + path,
        method: 'POST',
        headers: Object.fromEntries(fields.map(({ name, value }) => [name, value])),
        body,
        timeoutMs,
        answerBytesMax,
        signal: this.stop.signal,
      });
      return readAnswer(answer);
    } finally {
      this.leave();
    }
  }

  /** Gives up what is under way, and what waits. */
  close(): void {
    this.stop.abort();
  }

  private async enter(): Promise<void> {
    if (this.underWay < AT_ONCE) {
      this.underWay++;
      return;
    }
    await new Promise<void>((resolve) => {
      this.waiting.push(resolve);
    });
  }

  private leave(): void {
    const next = this.waiting.shift();
    // The next one takes the place that this one had.
    if (next === undefined) this.underWay--;
    else next();
  }
}

/** Where it was reached, and gave no answer nevertheless. */
const reasons: Readonly<Record<string, string>> = {
  ECONNRESET: 'connection-lost',
  aborted: 'closed',
};

function readAnswer(answer: Awaited<ReturnType<SendOverHttp1>>): WebPushResult {
  switch (answer.result) {
    case 'answered': {
      const retryAfter = answer.headers.get('retry-after') ?? undefined;
      const { status, body } = answer;
      return { result: 'answered', answer: { status, retryAfter, body } };
    }
    case 'timeout':
      return { result: 'not-answered', reason: 'no-answer' };
    case 'unreachable':
      return { result: 'not-answered', reason: reasons[answer.why] ?? 'unreachable' };
    case 'not-allowed':
      return { result: 'not-allowed', words: answer.why };
    default:
      return answer satisfies never;
  }
}
