import { monotonicTimers } from '../runtime/system-timers.ts';
/** What a fake gateway does with a request instead of handling it. */
export type Act =
  | {
      readonly act: 'answer';
      readonly status: number;
      readonly fields?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** Accepts the request, and never answers. */
  | { readonly act: 'hang' }
  /** Refuses the request, explicitly if the protocol allows it. */
  | { readonly act: 'turn-away' }
  /** Resets the request, leaving open whether it was accepted. */
  | { readonly act: 'reset' }
  /** Closes the connection. */
  | { readonly act: 'cut' }
  /** Sends GOAWAY: requests in flight are finished; this one and later ones were not processed. */
  | { readonly act: 'go-away' };

interface Scripted {
  readonly act: Act;
  times: number;
}

/** What is to go wrong, for one token or for the next requests. */
export class FaultScript implements Disposable {
  /** Delay of each answer. */
  latencyMs = 0;
  private readonly forTokens = new Map<string, Scripted>();
  private readonly next: Scripted[] = [];
  /** Answers that wait for the latency, by what cancels the wait. */
  private readonly waiting = new Map<() => void, () => void>();

  /** For the next `times` requests of this token. Replaces earlier instructions for the token. */
  forToken(token: string, act: Act, times = Number.POSITIVE_INFINITY): void {
    this.forTokens.set(token, { act, times });
  }

  /** For the next requests of any token, after earlier instructions. */
  forNext(times: number, act: Act): void {
    this.next.push({ act, times });
  }

  clear(): void {
    this.forTokens.clear();
    this.next.length = 0;
    this.latencyMs = 0;
  }

  /** Takes the act for a request; `undefined`: handle it normally. */
  take(token: string): Act | undefined {
    const scripted = this.forTokens.get(token) ?? this.next[0];
    if (scripted === undefined) return undefined;
    scripted.times--;
    if (scripted.times <= 0) {
      if (scripted === this.next[0]) this.next.shift();
      else this.forTokens.delete(token);
    }
    return scripted.act;
  }

  afterLatency(run: () => void): void {
    if (this.latencyMs === 0) return run();
    const cancel = monotonicTimers.after(this.latencyMs, () => {
      this.waiting.delete(cancel);
      run();
    });
    this.waiting.set(cancel, run);
  }

  /** Gives all answers that wait now, and later ones without latency. */
  answerNow(): void {
    this.latencyMs = 0;
    for (const [cancel, run] of this.waiting) {
      cancel();
      run();
    }
    this.waiting.clear();
  }

  /** Cancels answers that wait for the latency. */
  [Symbol.dispose](): void {
    for (const cancel of this.waiting.keys()) cancel();
  }
}
