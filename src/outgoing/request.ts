import { errorWord } from '../runtime/error-code.ts';
import { parseAddress } from '../runtime/ip-address.ts';
import { monotonicTimers } from '../runtime/system-timers.ts';
import { classifyAddress } from './address-class.ts';
import { findGuarded, type GuardOptions } from './address-guard.ts';
import { asDocumented } from './header-names.ts';
import { isNotConnected } from './not-connected.ts';
import type { ForwardProxy } from './proxy/forward-proxy.ts';
import { fetchThrough } from './proxy/proxied-fetch.ts';
import { ProxyFault, type ProxyReason } from './proxy/proxy-fault.ts';
import { type ProxyWatch, watchProxy } from './proxy/proxy-watch.ts';

/** A request to a URL that a tenant or a device gave: a POST request, or without a body a GET request. */
export interface OutgoingRequest {
  readonly url: string;
  /** The owner whose quota of name lookups the request counts against. */
  readonly owner: string;
  /** Names in lower case. They are sent as their documentation writes them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** For the lookup, the connection and the answer together. */
  readonly timeoutMs: number;
  /** How much of the answer is read. The connection is closed if there is more. */
  readonly answerBytesMax: number;
  /** Aborts the request: the answer is then `unreachable`, "aborted". */
  readonly signal?: AbortSignal;
}

export type OutgoingAnswer =
  | {
      readonly result: 'answered';
      readonly status: number;
      readonly headers: Headers;
      /** The first bytes, as they came: not decompressed. */
      readonly body: Uint8Array;
    }
  | { readonly result: 'timeout' }
  | {
      readonly result: 'unreachable';
      /** A code or a few words. */
      readonly why: string;
      /** Set if the proxy is the cause. */
      readonly proxyReason?: ProxyReason;
    }
  /** Nothing was sent. */
  | { readonly result: 'not-allowed'; readonly why: string };

/** Sends a request; follows no redirect, and never throws. */
export type SendRequest = (request: OutgoingRequest) => Promise<OutgoingAnswer>;

/** Sends a request for an owner that the function sets itself. */
export type SendUnowned = (request: Omit<OutgoingRequest, 'owner'>) => Promise<OutgoingAnswer>;

export interface SendRequestOptions extends GuardOptions {
  /** Certificates to trust in place of the system's, as PEM. */
  readonly ca?: string | undefined;
  /** Refuses http to other than private addresses: anybody on the way could change the answer. */
  readonly needsTls?: boolean;
}

/** Addresses of one name that are tried one after the other. */
const ADDRESSES_MAX = 4;

/**
 * Makes the function that sends all HTTP/1.1 requests to URLs given by tenants and devices.
 *
 * The guard holds at connect time: the name is looked up here, each of its addresses must be public, and the
 * connection goes to exactly the address that was checked, so DNS rebinding has no effect. Bun's `fetch` gets that
 * address in the URL, and the name in `Host` and `tls.serverName`: it verifies the certificate for that name, and pools
 * connections by it. `redirect: 'manual'`, so a redirect is the answer. `decompress: false`, so a small answer cannot
 * grow.
 *
 * A proxy gets the checked address, too, unless names are passed to it.
 */
export function createSendRequest({ ca, needsTls, ...options }: SendRequestOptions): SendRequest {
  return async (request) => {
    const url = readUrl(request.url);
    if (url === undefined) return { result: 'not-allowed', why: 'not an http or https address' };

    const stop = new AbortController();
    const cancel = monotonicTimers.after(request.timeoutMs, () => stop.abort(TIMEOUT));
    const abort = () => stop.abort(ABORTED);
    request.signal?.addEventListener('abort', abort);
    if (request.signal?.aborted) abort();
    let watch: ProxyWatch | undefined;
    try {
      const context = { owner: request.owner, signal: stop.signal };
      const found = await findGuarded(hostOf(url), options, context);
      if (!found.ok) return { result: 'not-allowed', why: found.why };
      const { addresses, proxy } = found;
      if (needsTls === true && url.protocol === 'http:' && !addresses.every(isPrivate)) {
        return { result: 'not-allowed', why: 'http, which only private addresses may have' };
      }
      if (proxy !== undefined) {
        const [host = ''] = addresses;
        const target = { proxy, host, port: portOf(url), timeoutMs: request.timeoutMs };
        watch = watchProxy(target, monotonicTimers);
      }
      const sending = { url, request, ca, stop, proxy };
      return await sendToFirst(addresses.slice(0, ADDRESSES_MAX), sending);
    } catch (error) {
      const isTimeout = stop.signal.reason === TIMEOUT;
      const fault = isTimeout ? watch?.fault() : error;
      if (fault instanceof ProxyFault) {
        return { result: 'unreachable', why: fault.code, proxyReason: fault.reason };
      }
      if (isTimeout) return { result: 'timeout' };
      return { result: 'unreachable', why: stop.signal.aborted ? 'aborted' : errorWord(error) };
    } finally {
      watch?.[Symbol.dispose]();
      cancel();
      request.signal?.removeEventListener('abort', abort);
    }
  };
}

const TIMEOUT = new Error('timeout');
const ABORTED = new Error('aborted');

function readUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : undefined;
}

/** A name that a proxy looks up is not known to be private. */
function isPrivate(host: string): boolean {
  return parseAddress(host) !== undefined && !classifyAddress(host).public;
}

/** An IPv6 address without its brackets. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

function portOf({ port, protocol }: URL): number {
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}

interface Sending {
  readonly url: URL;
  readonly request: OutgoingRequest;
  /** Certificates that are trusted in addition, as PEM. */
  readonly ca: string | undefined;
  readonly stop: AbortController;
  readonly proxy: ForwardProxy | undefined;
}

/** Sends the request to the first address that a connection can be made to. */
async function sendToFirst(
  addresses: readonly string[],
  sending: Sending,
): Promise<OutgoingAnswer> {
  let failure: unknown = new Error('the name has no address');
  for (const address of addresses) {
    try {
      return await sendTo(address, sending);
    } catch (error) {
      failure = error;
      if (sending.stop.signal.aborted || !mayReachAnother(error)) throw error;
    }
  }
  throw failure;
}

/** Whether nothing was sent, and another address may be reached. */
function mayReachAnother(error: unknown): boolean {
  return error instanceof ProxyFault
    ? error.status !== undefined && error.status >= 500
    : isNotConnected(errorWord(error));
}

async function sendTo(
  address: string,
  { url, request, ca, stop, proxy }: Sending,
): Promise<OutgoingAnswer> {
  const { headers, body, answerBytesMax } = request;
  const target = new URL(url);
  target.hostname = address.includes(':') ? `[${address}]` : address;
  target.username = '';
  target.password = '';
  const named = parseAddress(hostOf(url)) === undefined;
  const response = await fetchThrough(proxy, target, {
    method: body === undefined ? 'GET' : 'POST',
    headers: asDocumented({ ...authorization(url), ...headers, host: url.host }),
    ...(body !== undefined && { body }),
    redirect: 'manual',
    decompress: false,
    signal: stop.signal,
    tls: { ...(named && { serverName: url.hostname }), ...(ca !== undefined && { ca }) },
  });
  return {
    result: 'answered',
    status: response.status,
    headers: response.headers,
    body: await readStart(response, answerBytesMax, stop),
  };
}

/** User and password of a URL are sent as Basic authentication, as by every HTTP client. */
function authorization({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}

/** Reads at most `bytesMax`. Once the status has come, a failure no longer changes the result. */
async function readStart(
  response: Response,
  bytesMax: number,
  stop: AbortController,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let left = bytesMax;
  try {
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) {
        // Closes the connection; otherwise the runtime would continue to receive.
        stop.abort(ABORTED);
        break;
      }
    }
  } catch {
    // A timeout or a lost connection within the body: the bytes received so far are the answer.
  }
  return Buffer.concat(chunks);
}
