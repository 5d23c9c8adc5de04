import { type HeaderField, keptField } from '../../../outgoing/http2/hpack/header-field.ts';
import type { SendUnowned } from '../../../outgoing/request.ts';
import { doubledMs } from '../../../runtime/time/back-off.ts';
import type { FcmCredential } from './credential.ts';
import type { FcmTokenFault } from './token-answer.ts';

export interface AccessTokensOptions {
  readonly credential: FcmCredential;
  readonly send: SendUnowned;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
}

/** The `authorization` field of a message, or the reason why there is none. */
export type AccessToken =
  | { readonly ok: true; readonly field: HeaderField }
  | { readonly ok: false; readonly fault: FcmTokenFault };

interface Held {
  readonly ok: true;
  readonly field: HeaderField;
  readonly renewAtMs: number;
  readonly endsAtMs: number;
}

interface Pause {
  readonly fault: FcmTokenFault;
  readonly beganAtMs: number;
  readonly ms: number;
}

/** How long before its end a token is renewed; a short-lived one halfway. */
const EARLY_MS = 5 * 60_000;

/** A token is not used in its last seconds, so that it is still valid when the message arrives. */
const LAST_MS = 10_000;

/** Pause after a failed request. It doubles with each further failure. */
const PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 60_000;

/** The pause after the credential was refused: an operator must fix that first. */
const PAUSE_AFTER_REFUSAL_MS = 60_000;

/** The longest pause that Google may ask for. */
const ASKED_MS_MAX = 15 * 60_000;

/** Least time between replacing tokens that FCM refused. */
const REPLACE_MS_MIN = 60_000;

/** The access token of one credential, requested when the first message needs it, and renewed. */
export class AccessTokens implements Disposable {
  private readonly options: AccessTokensOptions;
  private readonly stop = new AbortController();
  private held: Held | undefined;
  private inFlight: Promise<AccessToken> | undefined;
  private pause: Pause | undefined;
  private pauses = 0;
  private replacedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: AccessTokensOptions) {
    this.options = options;
  }

  /** The token to send with now. All callers share one request for a new one. */
  async get(): Promise<AccessToken> {
    const nowMs = this.options.nowMs();
    const { held } = this;
    if (held === undefined || nowMs >= held.endsAtMs) return this.renew(nowMs);
    // Renewed in the background: a failure does not matter while this one is valid.
    if (nowMs >= held.renewAtMs) void this.renew(nowMs);
    return held;
  }

  /**
   * The token to retry with after FCM refused this one. It is the same one if it was replaced less than a minute ago:
   * then the token is not the cause.
   */
  async replace(refused: HeaderField): Promise<AccessToken> {
    const nowMs = this.options.nowMs();
    const sinceMs = Math.abs(nowMs - this.replacedAtMs);
    if (this.held?.field === refused && sinceMs >= REPLACE_MS_MIN) {
      this.replacedAtMs = nowMs;
      this.held = undefined;
    }
    return this.get();
  }

  /** Gives up a request in flight. */
  [Symbol.dispose](): void {
    this.stop.abort();
  }

  private renew(nowMs: number): Promise<AccessToken> {
    if (this.inFlight !== undefined) return this.inFlight;
    const paused = this.pausedFault(nowMs);
    if (paused !== undefined) return Promise.resolve({ ok: false, fault: paused });
    this.inFlight = this.request(nowMs).finally(() => {
      this.inFlight = undefined;
    });
    return this.inFlight;
  }

  private async request(nowMs: number): Promise<AccessToken> {
    const { credential, send } = this.options;
    const { signal } = this.stop;
    const answer = await credential.requestToken({ send, nowMs: this.options.nowMs, signal });
    if (!answer.ok) {
      this.startPause(answer.fault);
      return answer;
    }
    const { token, validMs } = answer;
    this.pause = undefined;
    this.pauses = 0;
    // Counted from the request, which is a little early.
    this.held = {
      ok: true,
      field: keptField('authorization', `Bearer ${token}`),
      renewAtMs: nowMs + Math.max(validMs - EARLY_MS, validMs / 2),
      endsAtMs: nowMs + validMs - LAST_MS,
    };
    return this.held;
  }

  private startPause(fault: FcmTokenFault): void {
    const pauseMs = doubledMs(PAUSE_MS, { times: this.pauses, maxMs: PAUSE_MS_MAX });
    this.pauses++;
    this.pause = {
      fault,
      beganAtMs: this.options.nowMs(),
      ms:
        fault.result === 'try-again'
          ? Math.max(pauseMs, Math.min(fault.afterMs ?? 0, ASKED_MS_MAX))
          : PAUSE_AFTER_REFUSAL_MS,
    };
  }

  private pausedFault(nowMs: number): FcmTokenFault | undefined {
    if (this.pause === undefined) return undefined;
    const { fault, beganAtMs, ms } = this.pause;
    const leftMs = beganAtMs + ms - nowMs;
    // `leftMs > ms`: the clock was set back.
    if (leftMs <= 0 || leftMs > ms) return undefined;
    return fault.result === 'try-again' ? { ...fault, afterMs: leftMs } : fault;
  }
}
