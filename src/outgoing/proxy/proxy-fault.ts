import { STATUS_CODES } from 'node:http';

/** Why the proxy made no connection. */
export type ProxyReason =
  /** No connection to the proxy, or no answer of it in time. */
  | 'proxy-unreachable'
  /** The proxy answered, but opened no tunnel. */
  | 'proxy-refused';

/** The proxy made no connection: nothing of the request was sent. */
export class ProxyFault extends Error {
  override readonly name = 'ProxyFault';
  readonly reason: ProxyReason;
  /** The reason in a few words. They name the proxy's host and port, and no secret. */
  readonly code: string;
  /** What the proxy answered. */
  readonly status: number | undefined;

  constructor(reason: ProxyReason, words: string, status?: number) {
    super(words);
    this.reason = reason;
    this.code = words;
    this.status = status;
  }
}

/** `why` is a code or a few words. */
export function proxyUnreachable(proxy: string, why: string): ProxyFault {
  return new ProxyFault('proxy-unreachable', `proxy ${proxy}: ${why}`);
}

/** The words are those of the standard, because the proxy's own text may hold anything. */
export function proxyRefused(proxy: string, status: number): ProxyFault {
  const words = STATUS_CODES[status] === undefined ? '' : ` ${STATUS_CODES[status]}`;
  return new ProxyFault('proxy-refused', `proxy ${proxy} answered ${status}${words}`, status);
}

export function proxyBrokeHttp(proxy: string, how: string): ProxyFault {
  return new ProxyFault('proxy-refused', `proxy ${proxy} ${how}`);
}
