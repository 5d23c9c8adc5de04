import { redactedUrl } from '../runtime/logging/redact.ts';

/** Where one side of a server is reached: the clients' or the backends'. */
export interface TargetAddress {
  readonly tls: boolean;
  /** Without the brackets of an IPv6 address. */
  readonly hostname: string;
  readonly port: number;
  /** The path that the server is mounted under, without a slash at its end. */
  readonly prefix: string;
  /** The value of the `Host` header. */
  readonly host: string;
}

/** A server of this protocol: often one endpoint, on the hosted service two. */
export interface Target {
  readonly websocket: TargetAddress;
  readonly api: TargetAddress;
}

type NotParsed = { readonly ok: false; readonly detail: string; readonly advice: string };
type ParsedEndpoint = { readonly ok: true; readonly endpoint: TargetAddress } | NotParsed;
export type ParsedTarget = { readonly ok: true; readonly target: Target } | NotParsed;

/** Reads `--url` and `--api-url`. The hosted service has different hosts for clients and backends. */
export function parseTarget(url: string, apiUrl: string | undefined): ParsedTarget {
  const given = parseEndpoint('--url', url);
  if (!given.ok) return given;
  if (apiUrl !== undefined) {
    const api = parseEndpoint('--api-url', apiUrl);
    return api.ok ? { ok: true, target: { websocket: given.endpoint, api: api.endpoint } } : api;
  }
  return {
    ok: true,
    target: {
      websocket: elsewhere(given.endpoint, 'ws'),
      api: elsewhere(given.endpoint, 'api'),
    },
  };
}

export function sameEndpoint(a: TargetAddress, b: TargetAddress): boolean {
  return a.host === b.host && a.tls === b.tls && a.prefix === b.prefix;
}

/** The address of an endpoint as a person would write it. */
export function addressOf({ tls, host, prefix }: TargetAddress): string {
  return `${tls ? 'https' : 'http'}://${host}${prefix}`;
}

/** Whether it is the host of the hosted service for WebSockets. Source: Channels protocol, §1. */
export function isHosted({ hostname }: TargetAddress): boolean {
  return /^ws(?:-[\w-]+\.pusher|\.pusherapp)\.com$/.test(hostname);
}

/** The two hosts of the hosted service. Source: Channels protocol, §1. */
function elsewhere(endpoint: TargetAddress, side: 'ws' | 'api'): TargetAddress {
  const hostname = endpoint.hostname
    .replace(/^(?:ws|api)(-[\w-]+\.pusher\.com)$/, `${side}$1`)
    .replace(/^(?:ws|api)(\.pusherapp\.com)$/, `${side}$1`);
  return hostname === endpoint.hostname
    ? endpoint
    : { ...endpoint, hostname, host: endpoint.host.replace(endpoint.hostname, hostname) };
}

const schemes: Readonly<Record<string, boolean>> = {
  'http:': false,
  'ws:': false,
  'https:': true,
  'wss:': true,
};

/** Reads the whole address of something that a browser asks, with its path and query. */
export function parseAddress(
  option: string,
  text: string,
): { readonly ok: true; readonly endpoint: TargetAddress; readonly target: string } | NotParsed {
  const read = readUrl(option, text, 'Write it like https://www.example.com/pusher/auth.');
  if (!read.ok) return read;
  const { pathname, search } = read.url;
  return { ok: true, endpoint: endpointOf(read, ''), target: pathname + search };
}

interface ReadUrl {
  readonly ok: true;
  readonly url: URL;
  readonly tls: boolean;
}

function readUrl(option: string, text: string, example: string): ReadUrl | NotParsed {
  const refused = refusing(option);
  if (!URL.canParse(text)) return refused('it is not a URL', example);
  const url = new URL(text);
  const tls = schemes[url.protocol];
  if (tls === undefined || url.hostname === '') {
    return refused(
      `"${redactedUrl(text)}" does not begin with http://, https://, ws:// or wss://`,
      example,
    );
  }
  // A password that was not encoded may look like a port and a path.
  if (url.username !== '' || url.password !== '' || /@|%40/.test(url.host + url.pathname)) {
    return refused(
      'the URL holds a user name or password',
      'Leave them out: this protocol authenticates with --key and --secret.',
    );
  }
  return { ok: true, url, tls };
}

const refusing =
  (option: string) =>
  (detail: string, advice: string): NotParsed => ({
    ok: false,
    detail: `${option}: ${detail}`,
    advice,
  });

function parseEndpoint(option: string, text: string): ParsedEndpoint {
  const refused = refusing(option);
  const example = 'Write it like https://realtime.example.com or http://127.0.0.1:6001.';
  const read = readUrl(option, text, example);
  if (!read.ok) return read;
  const { url } = read;
  if (url.search !== '' || url.hash !== '') {
    return refused(
      'the URL has a query or a fragment',
      `Leave out what follows "?" or "#". ${example}`,
    );
  }
  const prefix = url.pathname.replace(/\/+$/, '');
  if (/\/apps?(\/|$)/.test(prefix)) {
    return refused(
      `the path ${prefix} is that of one call`,
      'Give the address without /app/… and /apps/…; those are added. Keep a prefix that the server is mounted under.',
    );
  }
  return { ok: true, endpoint: endpointOf(read, prefix) };
}

function endpointOf({ url, tls }: ReadUrl, prefix: string): TargetAddress {
  const defaultPort = tls ? 443 : 80;
  return {
    tls,
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? defaultPort : Number(url.port),
    prefix,
    host: url.host,
  };
}
