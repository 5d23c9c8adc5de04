import type { SendUnowned } from '../../../outgoing/request.ts';
import type { ReadToken } from './token-answer.ts';

/** What one request for an access token needs. */
export interface TokenRequest {
  readonly send: SendUnowned;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
  /** Gives the request up. */
  readonly signal: AbortSignal;
}

/** What proves to Google that this server may send for a Firebase project. */
export interface FcmCredential {
  readonly projectId: string;
  /** Gets an access token for it. Never throws. */
  requestToken(request: TokenRequest): Promise<ReadToken>;
}

export type ReadCredential =
  | { readonly ok: true; readonly credential: FcmCredential }
  | { readonly ok: false; readonly why: string };

/** The permission that an access token is for. Source: push protocol, §8.2. */
export const MESSAGING_SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';

/** Bounds of each request that an access token takes. */
export const TOKEN_BOUNDS = { timeoutMs: 10_000, answerBytesMax: 16 * 1024 } as const;

/** A project id, which becomes part of a path. Old ids begin with a domain, as in `example.com:shop`. */
export const PROJECT_ID = /^[A-Za-z0-9][\w.:-]{0,127}$/;

export function isHttpUrl(text: unknown): text is string {
  return typeof text === 'string' && /^https?:$/.test(URL.parse(text)?.protocol ?? '');
}
