import { isNotConnected } from '../../outgoing/not-connected.ts';
import type { OutgoingAnswer, SendUnowned } from '../../outgoing/request.ts';
import { type Sender, SenderQueue, untrustedLimit } from '../../runtime/fairness/sender-queue.ts';
import type { Timers } from '../../runtime/ports.ts';
import type { Http1Slots, RequestKind, SlotWaiter } from './http1-slots.ts';
import type { WebPushResult } from './web-push-answer.ts';
import type { WebPushRequest } from './web-push-request.ts';
import { windowsWords } from './windows.ts';

export interface Http1PoolOptions {
  readonly send: SendUnowned;
  readonly timers: Timers;
  /** From `send` to the answer, waiting included. */
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
  /** Shared by all push services. */
  readonly slots: Http1Slots;
  /** The limit of requests in flight. Each takes a connection. */
  readonly inFlightMax?: number;
}

/** The limit of requests in flight to one push service, if no other is given. */
const IN_FLIGHT_MAX = 64;

/** Sends to one push service over HTTP/1.1. Untrusted devices leave some of its connections to others. */
export class Http1Pool implements SlotWaiter {
  private readonly origin: string;
  private readonly options: Http1PoolOptions;
  private readonly inFlightMax: number;
  private readonly stop = new AbortController();
  private readonly waiting = new SenderQueue<Waiting>();
  private inFlight = 0;
  private untrustedInFlight = 0;

  constructor(origin: string, options: Http1PoolOptions) {
    this.origin = origin;
    this.options = options;
    this.inFlightMax = options.inFlightMax ?? IN_FLIGHT_MAX;
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

  /** Gives up requests in flight and those that wait. */
  close(): void {
    this.stop.abort();
  }

  startNext(): boolean {
    if (!this.hasSlot) return false;
    const next = this.waiting.take(this.hasUntrustedSlot);
    if (this.waiting.size === 0) this.options.slots.stopWaiting(this);
    if (next === undefined) return false;
    this.start(next.sender);
    next.enter();
    return true;
  }

  private async enter(sender: Sender): Promise<void> {
    const isFirst = !this.waiting.hasTrusted;
    if (isFirst && (sender.isTrusted ? this.hasSlot : this.hasUntrustedSlot)) {
      this.start(sender);
      return;
    }
    await new Promise<void>((resolve) => {
      this.waiting.add({ sender, enter: resolve }, sender);
      this.options.slots.wait(this);
    });
  }

  private get hasSlot(): boolean {
    const { slots } = this.options;
    return (
      slots.hasFree('trusted') && this.inFlight < Math.min(this.inFlightMax, slots.limitPerPool)
    );
  }

  private get hasUntrustedSlot(): boolean {
    const limit = untrustedLimit(this.inFlightMax, this.waiting.hasTrusted);
    return (
      this.hasSlot && this.untrustedInFlight < limit && this.options.slots.hasFree(this.untrusted)
    );
  }

  /** What one more untrusted request is, or the one that ended last. */
  private get untrusted(): RequestKind {
    return this.untrustedInFlight === 0 ? 'first-untrusted' : 'further-untrusted';
  }

  private start({ isTrusted }: Sender): void {
    this.options.slots.take(isTrusted ? 'trusted' : this.untrusted);
    this.inFlight++;
    if (!isTrusted) this.untrustedInFlight++;
  }

  private leave({ isTrusted }: Sender): void {
    this.inFlight--;
    if (!isTrusted) this.untrustedInFlight--;
    this.options.slots.giveBack(isTrusted ? 'trusted' : this.untrusted);
  }
}

interface Waiting {
  readonly sender: Sender;
  readonly enter: () => void;
}

function reasonOf(why: string): string {
  if (why === 'aborted') return 'closed';
  // No device can have caused a failure before the connection was made.
  return isNotConnected(why) ? 'unreachable' : 'connection-lost';
}

function readAnswer(answer: OutgoingAnswer): WebPushResult {
  switch (answer.result) {
    case 'answered': {
      const retryAfter = answer.headers.get('retry-after') ?? undefined;
      const { status, body, headers } = answer;
      const headerWords = windowsWords((name) => headers.get(name) ?? undefined);
      return { result: 'answered', answer: { status, retryAfter, body, headerWords } };
    }
    case 'timeout':
      return { result: 'not-answered', reason: 'no-answer' };
    case 'unreachable':
      return answer.proxyReason === undefined
        ? { result: 'not-answered', reason: reasonOf(answer.why) }
        : { result: 'not-answered', reason: answer.proxyReason, words: answer.why };
    case 'not-allowed':
      return { result: 'not-allowed', words: answer.why };
    default:
      return answer satisfies never;
  }
}
