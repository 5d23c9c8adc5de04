/** Failures in a row after which a push service is left alone. Fewer may be of single browsers. */
const TROUBLES_MAX = 20;

/** How long at first, where it does not say so itself; it doubles each time. */
const REST_MS = 1_000;
const REST_MS_MAX = 60_000;

/** The longest that it gets when it does. */
const ASKED_MS_MAX = 15 * 60_000;

/** How long one message is waited for that is sent to see how it is. Longer than any message takes. */
const PROBE_MS = 20_000;

/**
 * Leaves a push service alone for a while that has nothing but trouble: what is sent to it would hold places that
 * others could use, and make its trouble worse. After that, a single message shows whether it is well again.
 */
export class Rest {
  private troublesInRow = 0;
  private rests = 0;
  private endsAtMs = 0;
  private probeEndsAtMs = 0;
  private reason = '';

  /** Why a message is not to be sent now, and for how much longer; `undefined`: it is to be sent. */
  hold(nowMs: number): { readonly reason: string; readonly leftMs: number } | undefined {
    const { reason } = this;
    if (this.troublesInRow < TROUBLES_MAX) return undefined;
    if (nowMs < this.endsAtMs) return { reason, leftMs: this.endsAtMs - nowMs };
    if (nowMs < this.probeEndsAtMs) return { reason, leftMs: REST_MS };
    this.probeEndsAtMs = nowMs + PROBE_MS;
    return undefined;
  }

  /** It did what was asked for, or refused it for a reason of its own. */
  onAnswer(): void {
    this.troublesInRow = 0;
    this.rests = 0;
    this.probeEndsAtMs = 0;
  }

  /** `afterMs` is what it asked for. */
  onTrouble(reason: string, afterMs: number | undefined, nowMs: number): void {
    this.troublesInRow++;
    // Those that were under way when it began to rest say nothing new.
    if (this.troublesInRow < TROUBLES_MAX || nowMs < this.endsAtMs) return;
    const restMs = Math.min(REST_MS * 2 ** this.rests, REST_MS_MAX);
    this.rests++;
    this.reason = reason;
    this.endsAtMs = nowMs + Math.max(restMs, Math.min(afterMs ?? 0, ASKED_MS_MAX));
    this.probeEndsAtMs = 0;
  }
}
