import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import type { Clock } from '../../runtime/ports.ts';
import { AcmeFault, readProblem, refusedBy, unreachable } from './fault.ts';

/** The timeout of one request, including its answer. Milliseconds. */
const REQUEST_MS = 30_000;

/** The largest answer. A chain of certificates takes a few kilobytes. */
const ANSWER_BYTES_MAX = 262_144;

/** How often a request is repeated because its nonce was too old. */
const NONCE_REPEATS = 4;

/** The longest `Retry-After` that is obeyed. */
const RETRY_AFTER_MAX_MS = 7 * 86_400_000;

/** How `fetch` is called here. */
export type SendToAuthority = (url: string, init: SendInit) => Promise<Response>;

export interface SendInit {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly redirect: 'manual';
  readonly signal: AbortSignal;
  /** For the request and its whole answer. */
  readonly timeoutMs: number;
}

export interface AcmeLinkOptions {
  readonly directory: string;
  /** The private key of the account, as PEM. */
  readonly accountKey: string;
  readonly send: SendToAuthority;
  readonly clock: Clock;
  /** Aborts the whole order. */
  readonly signal: AbortSignal;
}

export interface AcmeAnswer {
  readonly url: string;
  /** The JSON object in the answer; empty if the body is not one. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly location: string;
  readonly retryAfterMs: number | undefined;
}

interface Jwk {
  readonly crv: string;
  readonly kty: string;
  readonly x: string;
  readonly y: string;
}

/** Signed requests to one authority. Source: RFC 8555, 6. */
export class AcmeLink {
  /** The URL of the account; empty until it is known. Until then, requests carry the public key instead. */
  account = '';
  private readonly options: AcmeLinkOptions;
  private readonly host: string;
  private readonly key: KeyObject;
  private readonly jwk: Jwk;
  private nonce = '';
  private urls: Readonly<Record<string, unknown>> = {};

  constructor(options: AcmeLinkOptions) {
    this.options = options;
    this.host = new URL(options.directory).host;
    this.key = createPrivateKey(options.accountKey);
    const {
      crv = '',
      kty = '',
      x = '',
      y = '',
    } = createPublicKey(this.key).export({ format: 'jwk' });
    // The thumbprint is the hash of this text, so the order of the fields and the absence of white space matter.
    this.jwk = { crv, kty, x, y };
  }

  /** Reads the authority's URLs from its directory. */
  async open(): Promise<void> {
    this.urls = (await this.ask(this.options.directory, { method: 'GET' })).body;
  }

  /** One of the authority's URLs: `newOrder`, for example. */
  urlOf(name: string): string {
    return this.checked(this.urls[name], `"${name}" in the directory`);
  }

  /** A URL that the authority gave. */
  checked(url: unknown, what: string): string {
    if (typeof url === 'string' && /^https:\/\//i.test(url) && URL.canParse(url)) return url;
    throw new AcmeFault(`${this.host} does not speak ACME: ${what} is no https address`);
  }

  /** The text that proves to the authority that this account controls the domain. Source: RFC 8555, 8.1. */
  keyAuthorization(token: string): string {
    const thumbprint = createHash('sha256').update(JSON.stringify(this.jwk)).digest('base64url');
    return `${token}.${thumbprint}`;
  }

  /** Sends a signed request. Without a payload it only reads. Throws `AcmeFault`. */
  async post(url: string, payload?: Readonly<Record<string, unknown>>): Promise<AcmeAnswer> {
    for (let repeats = 0; ; repeats++) {
      if (this.nonce === '') await this.ask(this.urlOf('newNonce'), { method: 'HEAD' });
      const body = this.signed(url, payload);
      // A nonce is used up by the request, even if that fails.
      this.nonce = '';
      const headers = { 'content-type': 'application/jose+json' };
      try {
        return await this.ask(url, { method: 'POST', headers, body });
      } catch (error) {
        const isOld = error instanceof AcmeFault && error.type === 'badNonce';
        if (!isOld || repeats >= NONCE_REPEATS) throw error;
      }
    }
  }

  private signed(url: string, payload: Readonly<Record<string, unknown>> | undefined): string {
    const who = this.account === '' ? { jwk: this.jwk } : { kid: this.account };
    const head = base64url(JSON.stringify({ alg: 'ES256', ...who, nonce: this.nonce, url }));
    const content = payload === undefined ? '' : base64url(JSON.stringify(payload));
    const input = Buffer.from(`${head}.${content}`);
    const signature = sign('sha256', input, { key: this.key, dsaEncoding: 'ieee-p1363' });
    return JSON.stringify({
      protected: head,
      payload: content,
      signature: signature.toString('base64url'),
    });
  }

  private async ask(
    url: string,
    init: Pick<SendInit, 'method' | 'headers' | 'body'>,
  ): Promise<AcmeAnswer> {
    const { send, signal, clock } = this.options;
    let response: Response;
    let text: string;
    try {
      response = await send(url, {
        ...init,
        // RFC 8555, 6.1, requires a User-Agent.
        headers: { 'user-agent': 'fanfare', ...init.headers },
        redirect: 'manual',
        signal,
        timeoutMs: REQUEST_MS,
      });
      text = await readText(response);
    } catch (error) {
      if (error instanceof AcmeFault) throw error;
      if (signal.aborted) throw new AcmeFault('The authority took too long');
      throw unreachable(new URL(url).host, error);
    }
    const { headers, status } = response;
    this.nonce = headers.get('replay-nonce') ?? this.nonce;
    const retryAfterMs = readRetryAfter(headers.get('retry-after'), clock.now());
    const body = readObject(text);
    if (!response.ok) throw refusedBy(readProblem(body, status), retryAfterMs);
    return { url, body, text, location: headers.get('location') ?? '', retryAfterMs };
  }
}

async function readText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > ANSWER_BYTES_MAX) throw new AcmeFault('The answer of the authority is too long');
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

function readObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Seconds, or an HTTP date. Source: RFC 9110, 10.2.3. */
function readRetryAfter(text: string | null, nowMs: number): number | undefined {
  if (text === null) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), RETRY_AFTER_MAX_MS);
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}
