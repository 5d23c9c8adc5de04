import { isJsonObject, parseJsonObject } from '../../runtime/json-object.ts';
import { decodeBase64 } from '../../runtime/tokens/base64url.ts';
import type { SubscriptionKeys } from './encryption.ts';

/** How a browser is reached, and the keys for its messages. */
export interface WebSubscription {
  /** Scheme, host and port of its push service. */
  readonly origin: string;
  readonly hostname: string;
  /** Path and query of the endpoint. They are a secret: anyone who knows them can send to the browser. */
  readonly path: string;
  readonly keys: SubscriptionKeys;
}

const POINT_BYTES = 65;
const AUTH_BYTES = 16;

/** Reads the token of a browser; `undefined` if it is malformed, although it was checked at registration. */
export function readSubscription(token: string): WebSubscription | undefined {
  const { endpoint, keys } = parseJsonObject(token) ?? {};
  const url = typeof endpoint === 'string' ? URL.parse(endpoint) : null;
  if (url === null || !isJsonObject(keys)) return undefined;
  const p256dh = decodeKey(keys['p256dh'], POINT_BYTES);
  const auth = decodeKey(keys['auth'], AUTH_BYTES);
  if (p256dh === undefined || auth === undefined) return undefined;
  const { origin, hostname, pathname, search } = url;
  return { origin, hostname, path: pathname + search, keys: { p256dh, auth } };
}

function decodeKey(value: unknown, bytes: number): Uint8Array | undefined {
  const decoded = typeof value === 'string' ? decodeBase64(value) : undefined;
  return decoded?.length === bytes ? decoded : undefined;
}
