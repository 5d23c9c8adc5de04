import { isInRange, parseAddress, parseRange, unmapped } from '../../runtime/ip-address.ts';
import type { RequestHead } from './request-head.ts';

/** Headers that proxies, tunnels and content networks add. */
const PROXY_HEADERS =
  /^(?:via|forwarded|x-forwarded(?:-.+)?|x-real-ip|(?:true-)?client-ip|x-(?:original|envoy|amzn|appengine|azure|client|cluster|proxyuser)-.+|proxy-.+|cf-.+|cdn-.+|fastly-.+|fly-.+|akamai-.+|x-arr-.+|x-vercel-.+)$/;

const LOOPBACK = ['127.0.0.0/8', '::1'].flatMap((text) => parseRange(text) ?? []);

/**
 * Whether a proxy shows that it has passed a request on. Not every proxy does: one that forwards bytes leaves no
 * trace. HTTP/1.0 is what nginx speaks to the server behind it unless it is told otherwise.
 */
export function cameThroughProxy({ isHttp10, isForProxy, headerNames }: RequestHead): boolean {
  return isHttp10 || isForProxy || headerNames.some((name) => PROXY_HEADERS.test(name));
}

/**
 * Whether a request comes from a program on this machine that asks this machine: not through a proxy, not from
 * a page of a browser, and not by a name that somebody has made to point here (DNS rebinding).
 */
export function isLocal(head: RequestHead): boolean {
  return (
    isLoopback(head.peer) &&
    !cameThroughProxy(head) &&
    head.header('origin') === undefined &&
    isFromSameSite(head) &&
    namesThisMachine(head.header('host') ?? '')
  );
}

/**
 * Whether a page of another site may have sent a request. A browser adds the password that its user has typed to
 * requests of any page, and says in these headers where the page is from. Other programs send neither.
 */
export function isFromAnotherSite(head: RequestHead): boolean {
  if (!isFromSameSite(head)) return true;
  const origin = head.header('origin');
  return origin !== undefined && !isOwnOrigin(origin, head.header('host') ?? '');
}

function isFromSameSite(head: RequestHead): boolean {
  const site = head.header('sec-fetch-site');
  return site === undefined || site === 'same-origin' || site === 'none';
}

/** Whether a page is from this listener, by the name and port that it was asked by. The scheme is a proxy's business. */
function isOwnOrigin(origin: string, host: string): boolean {
  const page = URL.parse(origin);
  return page !== null && page.host === URL.parse(`${page.protocol}//${host}`)?.host;
}

function namesThisMachine(host: string): boolean {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  const name = bracketed ?? plain ?? '';
  return name.toLowerCase() === 'localhost' || isLoopback(name);
}

function isLoopback(text: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && LOOPBACK.some((range) => isInRange(unmapped(address), range));
}
