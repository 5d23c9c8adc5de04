import type { PushServiceRules } from '../model/instance.ts';

/** In characters. Endpoints of browsers have fewer than 400. */
const ENDPOINT_LENGTH_MAX = 2048;

const defaultPorts: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };

/** Stands in the allowed hosts for every host, as UnifiedPush needs. Source: UnifiedPush, "Specifications, Android", 3. */
export const ANY_HOST = '*';

export type ReadEndpoint =
  | {
      readonly ok: true;
      readonly endpoint: string;
      /** Its host, if the operator allows it only because every host is allowed. */
      readonly openHost?: string;
    }
  /** `why` is a predicate that quotes nothing of the endpoint. */
  | { readonly ok: false; readonly why: string };

/**
 * Reads the endpoint that a push service gave a browser. This server will send requests there, and anybody may register,
 * so only the operator's allowed hosts are accepted. Source: push protocol, §8.3.6.
 */
export function readEndpoint(value: unknown, rules: PushServiceRules): ReadEndpoint {
  if (typeof value !== 'string') return { ok: false, why: 'must be a string' };
  const url = value.length <= ENDPOINT_LENGTH_MAX ? URL.parse(value) : null;
  if (url === null || url.href.length > ENDPOINT_LENGTH_MAX) {
    return { ok: false, why: `must be a URL of at most ${ENDPOINT_LENGTH_MAX} characters` };
  }
  if (url.protocol !== 'https:' && !(rules.allowPrivateAddresses && url.protocol === 'http:')) {
    return { ok: false, why: 'must be an https URL' };
  }
  // Not `url.hash`, which is empty for a bare #.
  if (url.username !== '' || url.password !== '' || url.href.includes('#')) {
    return { ok: false, why: 'must have no user, password or fragment' };
  }
  // Normalised, so that two spellings of one endpoint are one device.
  const endpoint = url.href;
  if (rules.allowedHosts.some((allowed) => isHostAllowed(url, allowed, rules))) {
    return { ok: true, endpoint };
  }
  if (!rules.allowedHosts.includes(ANY_HOST)) {
    return { ok: false, why: 'is not at an allowed push service' };
  }
  if (!isPortAllowed(url, rules)) return { ok: false, why: 'must be at port 443' };
  return { ok: true, endpoint, openHost: url.hostname };
}

function isHostAllowed(url: URL, allowed: string, rules: PushServiceRules): boolean {
  const { host, port } = splitHost(allowed.toLowerCase());
  if (!isHostAt(url.hostname, host)) return false;
  return port === undefined ? isPortAllowed(url, rules) : portOf(url) === port;
}

function isPortAllowed(url: URL, { allowPrivateAddresses }: PushServiceRules): boolean {
  return allowPrivateAddresses || portOf(url) === '443';
}

function portOf(url: URL): string | undefined {
  return url.port === '' ? defaultPorts[url.protocol] : url.port;
}

/** The port follows the last colon, unless that is part of an IPv6 address. */
function splitHost(allowed: string): { readonly host: string; readonly port: string | undefined } {
  const colon = allowed.lastIndexOf(':');
  return colon > allowed.lastIndexOf(']')
    ? { host: allowed.slice(0, colon), port: allowed.slice(colon + 1) }
    : { host: allowed, port: undefined };
}

function isHostAt(hostname: string, allowed: string): boolean {
  if (!allowed.startsWith('*.')) return hostname === allowed;
  const below = allowed.slice(1);
  return hostname.length > below.length && hostname.endsWith(below);
}
