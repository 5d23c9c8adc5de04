import { isLoopback } from '../../runtime/ip-address.ts';
import { UNIX_PEER } from '../../runtime/listen-host.ts';
import type { AdminRequestHead } from './request-head.ts';

/** Headers that proxies, tunnels and content delivery networks add. */
const PROXY_HEADERS =
  /^(?:via|forwarded|x-forwarded(?:-.+)?|x-real-ip|(?:true-)?client-ip|x-(?:original|envoy|amzn|appengine|azure|client|cluster|proxyuser)-.+|proxy-.+|cf-.+|cdn-.+|fastly-.+|fly-.+|akamai-.+|x-arr-.+|x-vercel-.+)$/;

/**
 * Whether a request visibly came through a proxy. A proxy that only forwards bytes leaves no trace. HTTP/1.0 counts,
 * because nginx uses it by default.
 */
export function cameThroughProxy({ isHttp10, isForProxy, headerNames }: AdminRequestHead): boolean {
  return isHttp10 || isForProxy || headerNames.some((name) => PROXY_HEADERS.test(name));
}

/**
 * Whether a request comes from a program on this machine: not through a proxy, not from a page in a browser, and not by
 * a foreign name that points here (DNS rebinding).
 */
export function isLocal(head: AdminRequestHead): boolean {
  return (
    (head.peer === UNIX_PEER || isLoopback(head.peer)) &&
    !cameThroughProxy(head) &&
    head.header('origin') === undefined &&
    isFromSameSite(head) &&
    namesThisMachine(head.header('host') ?? '')
  );
}

/**
 * Whether a page of another site may have sent a request. Browsers add a password that their user has typed to requests
 * of any page, and name the origin of the page in these headers. Other programs send neither header.
 */
export function isFromAnotherSite(head: AdminRequestHead): boolean {
  if (!isFromSameSite(head)) return true;
  // No page can set this header, and it is true behind a proxy that passes on another `Host`, as nginx does by default.
  if (head.header('sec-fetch-site') === 'same-origin') return false;
  const origin = head.header('origin');
  return origin !== undefined && !isOwnOrigin(origin, head.header('host') ?? '');
}

function isFromSameSite(head: AdminRequestHead): boolean {
  const site = head.header('sec-fetch-site');
  return site === undefined || site === 'same-origin' || site === 'none';
}

/** Whether a page comes from this listener, by host and port. The scheme may differ behind a proxy. */
function isOwnOrigin(origin: string, host: string): boolean {
  const page = URL.parse(origin);
  return page !== null && page.host === URL.parse(`${page.protocol}//${host}`)?.host;
}

function namesThisMachine(host: string): boolean {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  const name = bracketed ?? plain ?? '';
  return name.toLowerCase() === 'localhost' || isLoopback(name);
}
