import { newcomersMax } from '../../runtime/newcomer-share.ts';
import type { Timers } from '../../runtime/ports.ts';
import { type Sender, SenderQueue } from '../../runtime/sender-queue.ts';
import type { Http1Slots, SlotWaiter } from './http1-slots.ts';
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

export interface Http1PoolOptions {
  readonly send: SendOverHttp1;
  readonly timers: Timers;
  /** From `send` to the answer, waiting included. */
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
  /** The places that all push services share. */
  readonly places: Http1Slots;
}

/** Requests under way to one push service, each of which holds a connection. */
const AT_ONCE = 64;

/** Sends to one push service over HTTP/1.1. Newcomers leave some of its connections to other devices. */
export class Http1Pool implements SlotWaiter {
  private readonly origin: string;
  private readonly options: Http1PoolOptions;
  private readonly stop = new AbortController();
  private underWay = 0;
  private newcomersUnderWay = 0;
  private readonly waiting = new SenderQueue<Waiting>();

  constructor(origin: string, options: Http1PoolOptions) {
    this.origin = origin;
    this.options = options;
  }

  async send({ path, fields, body, sender }: WebPushRequest): Promise<WebPushResult> {
    const { timers, answerBytesMax } = this.options;
    const endsAtMs = timers.now() + this.options.timeoutMs;
    await this.enter(sender);
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
      this.leave(sender);
    }
  }

  /** Gives up what is under way, and what waits. */
  close(): void {
    this.stop.abort();
  }

  /** Begins the next waiting request that may have a place; gives whether there was one. */
  beginNext(): boolean {
    if (!this.hasPlace) return false;
    const next = this.waiting.take(this.hasPlaceForNewcomer);
    if (this.waiting.size === 0) this.options.places.leave(this);
    if (next === undefined) return false;
    this.begin(next.sender);
    next.enter();
    return true;
  }

  private async enter(sender: Sender): Promise<void> {
    const isFirst = !this.waiting.doKnownWait;
    if (isFirst && (sender.isNewcomer ? this.hasPlaceForNewcomer : this.hasPlace)) {
      this.begin(sender);
      return;
    }
    await new Promise<void>((resolve) => {
      this.waiting.add({ sender, enter: resolve }, sender);
      this.options.places.wait(this);
    });
  }

  private get hasPlace(): boolean {
    const { places } = this.options;
    return places.hasPlace(false) && this.underWay < Math.min(AT_ONCE, places.mostOfOne);
  }

  private get hasPlaceForNewcomer(): boolean {
    const most = newcomersMax(AT_ONCE, this.waiting.doKnownWait);
    return this.hasPlace && this.newcomersUnderWay < most && this.options.places.hasPlace(true);
  }

  private leave(sender: Sender): void {
    this.underWay--;
    if (sender.isNewcomer) this.newcomersUnderWay--;
    this.options.places.giveBack(sender.isNewcomer);
  }

  private begin({ isNewcomer }: Sender): void {
    this.underWay++;
    if (isNewcomer) this.newcomersUnderWay++;
    this.options.places.take(isNewcomer);
  }
}

interface Waiting {
  readonly sender: Sender;
  readonly enter: () => void;
}

/** Errors before there is a connection: no device can have caused them. */
const UNREACHABLE: readonly string[] = [
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EAFNOSUPPORT',
  'FailedToOpenSocket',
  'ConnectionRefused',
];

function reasonOf(why: string): string {
  if (why === 'aborted') return 'closed';
  return UNREACHABLE.includes(why) ? 'unreachable' : 'connection-lost';
}

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
      return { result: 'not-answered', reason: reasonOf(answer.why) };
    case 'not-allowed':
      return { result: 'not-allowed', words: answer.why };
    default:
      return answer satisfies never;
  }
}
