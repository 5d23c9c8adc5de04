import { isJsonObject, type JsonObject, readJsonObject } from '../../runtime/json-object.ts';
import { decodeBase64, encodeBase64Url } from '../../runtime/tokens/base64url.ts';
import { isP256Point } from '../credentials/p256.ts';
import type { DeviceToken } from '../model/device.ts';
import type { PushServiceRules } from '../model/instance.ts';
import { tokenIdentity } from '../model/token-identity.ts';
import type { PushRefusal } from '../refusal.ts';
import { FieldFault, refuseField } from '../refusal.ts';
import { readEndpoint } from './push-service.ts';

/** In characters of base64. A token with the longest endpoint has fewer than 4,000. */
const TOKEN_LENGTH_MAX = 8192;

/** Source: RFC 8291, 3.2. */
const AUTH_BYTES = 16;

/** In characters; far more than any key has. */
const KEY_LENGTH_MAX = 200;

/**
 * Reads the token of a browser: base64 of the JSON of its push subscription. Keeps only what sending needs, in a
 * canonical form. Source: push protocol, §3.2.
 */
export function readWebToken(token: unknown, rules: PushServiceRules): DeviceToken | PushRefusal {
  const read = readToken(token, rules);
  return typeof read === 'string'
    ? refuseField('bad-device-request', new FieldFault('token', read))
    : read;
}

/** Returns a text if the token is not valid. It quotes nothing of the token, which is a secret. */
function readToken(token: unknown, rules: PushServiceRules): DeviceToken | string {
  if (typeof token !== 'string') return 'must be a string';
  const subscription = decodeSubscription(token);
  if (subscription === undefined) return 'must be base64 of the JSON of a push subscription';
  const endpoint = readEndpoint(subscription['endpoint'], rules);
  if (!endpoint.ok) return `the endpoint of the subscription ${endpoint.why}`;
  const { keys } = subscription;
  if (!isJsonObject(keys)) return 'the subscription must have keys';
  const p256dh = decodeKey(keys['p256dh']);
  if (p256dh === undefined || !isP256Point(p256dh)) {
    return 'p256dh of the subscription must be an uncompressed point of P-256 in base64url';
  }
  const auth = decodeKey(keys['auth']);
  if (auth?.length !== AUTH_BYTES) {
    return `auth of the subscription must be ${AUTH_BYTES} bytes in base64url`;
  }
  return {
    token: JSON.stringify({
      endpoint: endpoint.endpoint,
      keys: { p256dh: encodeBase64Url(p256dh), auth: encodeBase64Url(auth) },
    }),
    identity: tokenIdentity(endpoint.endpoint),
    openHost: endpoint.openHost,
  };
}

function decodeSubscription(token: string): JsonObject | undefined {
  const bytes = token.length <= TOKEN_LENGTH_MAX ? decodeBase64(token) : undefined;
  return bytes && readJsonObject(bytes);
}

function decodeKey(value: unknown): Uint8Array | undefined {
  return typeof value === 'string' && value.length <= KEY_LENGTH_MAX
    ? decodeBase64(value)
    : undefined;
}
