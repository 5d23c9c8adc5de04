import { type HeaderField, keptField } from '../../outgoing/http2/header-field.ts';
import { tokenRequestBody } from './assertion.ts';
import type { ServiceAccount } from './service-account.ts';
import { readTokenResult, type TokenFault, type TokenRequestResult } from './token-answer.ts';

/** Asks for an access token; never throws, follows no redirect. */
export type RequestToken = (request: {
  readonly url: string;
  readonly method: 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
  /** Gives up early. */
  readonly signal: AbortSignal;
}) => Promise<TokenRequestResult>;

export interface AccessTokensOptions {
  readonly account: ServiceAccount;
  readonly request: RequestToken;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
}

/** `authorization` of a message, or why there is none. */
export type AccessToken =
  | { readonly ok: true; readonly field: HeaderField }
  | { readonly ok: false; readonly fault: TokenFault };

interface Held {
  readonly ok: true;
  readonly field: HeaderField;
  readonly renewAtMs: number;
  readonly endsAtMs: number;
}

interface Pause {
  readonly fault: TokenFault;
  readonly beganAtMs: number;
  readonly ms: number;
}

const TIMEOUT_MS = 10_000;
const ANSWER_BYTES_MAX = 16 * 1024;

/** How long before its end a token is renewed; one that does not live twice as long, halfway. */
const EARLY_MS = 5 * 60_000;

/** A message that leaves with a token must arrive with it. */
const LAST_MS = 10_000;

/** The pause after a request that got none. It doubles with each while Google is away. */
const PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 60_000;

/** The pause where who we are is not believed: somebody must mend that first. */
const PAUSE_AFTER_WRONG_MS = 60_000;

/** The longest that Google gets when it asks to be left alone. */
const ASKED_MS_MAX = 15 * 60_000;

/** How seldom a token is replaced only because FCM did not take it. */
const REPLACE_MS_MIN = 60_000;

/** The access tokens of one service account: one at a time, asked for when the first message needs it. */
export class AccessTokens implements Disposable {
  private readonly options: AccessTokensOptions;
  private readonly stop = new AbortController();
  private held: Held | undefined;
  private underWay: Promise<AccessToken> | undefined;
  private pause: Pause | undefined;
  private pauses = 0;
  private replacedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: AccessTokensOptions) {
    this.options = options;
  }

  /** The token to send with now. Those who wait for a new one wait together. */
  async get(): Promise<AccessToken> {
    const nowMs = this.options.nowMs();
    const { held } = this;
    if (held === undefined || nowMs >= held.endsAtMs) return this.ask(nowMs);
    // Nobody waits for the next one while this one is good, nor hears of it when there is none.
    if (nowMs >= held.renewAtMs) void this.ask(nowMs);
    return held;
  }

  /**
   * The token to send with again, after FCM did not take this one. The same where that was tried a moment ago:
   * then it is not the token that is wrong.
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

  /** Gives up what is under way. */
  [Symbol.dispose](): void {
    this.stop.abort();
  }

  private ask(nowMs: number): Promise<AccessToken> {
    if (this.underWay !== undefined) return this.underWay;
    const paused = this.pausedFault(nowMs);
    if (paused !== undefined) return Promise.resolve({ ok: false, fault: paused });
    this.underWay = this.request(nowMs).finally(() => {
      this.underWay = undefined;
    });
    return this.underWay;
  }

  private async request(nowMs: number): Promise<AccessToken> {
    const { account, request } = this.options;
    const result = await request({
      url: account.tokenUri,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: tokenRequestBody(account, nowMs),
      timeoutMs: TIMEOUT_MS,
      answerBytesMax: ANSWER_BYTES_MAX,
      signal: this.stop.signal,
    });
    const answer = readTokenResult(result, this.options.nowMs());
    if (!answer.ok) {
      this.rest(answer.fault);
      return answer;
    }
    const { token, validMs } = answer;
    this.pause = undefined;
    this.pauses = 0;
    // It counts from when it was asked for, which is a little early.
    this.held = {
      ok: true,
      field: keptField('authorization', `Bearer ${token}`),
      renewAtMs: nowMs + Math.max(validMs - EARLY_MS, validMs / 2),
      endsAtMs: nowMs + validMs - LAST_MS,
    };
    return this.held;
  }

  private rest(fault: TokenFault): void {
    const doubledMs = Math.min(PAUSE_MS * 2 ** this.pauses, PAUSE_MS_MAX);
    this.pauses++;
    this.pause = {
      fault,
      beganAtMs: this.options.nowMs(),
      ms:
        fault.result === 'try-again'
          ? Math.max(doubledMs, Math.min(fault.afterMs ?? 0, ASKED_MS_MAX))
          : PAUSE_AFTER_WRONG_MS,
    };
  }

  private pausedFault(nowMs: number): TokenFault | undefined {
    if (this.pause === undefined) return undefined;
    const { fault, beganAtMs, ms } = this.pause;
    const leftMs = beganAtMs + ms - nowMs;
    // Of a clock that was put back, it must not become longer.
    if (leftMs <= 0 || leftMs > ms) return undefined;
    return fault.result === 'try-again' ? { ...fault, afterMs: leftMs } : fault;
  }
}
