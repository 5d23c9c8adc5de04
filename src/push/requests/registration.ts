import { isGiven, isJsonObject, type JsonObject } from '../../runtime/json-object.ts';
import type { DeviceMetadata, DeviceToken, NewDevice, Platform } from '../model/device.ts';
import type { PushInstance } from '../model/instance.ts';
import { tokenIdentity } from '../model/token-identity.ts';
import { isTokenKind, storedToken, tokenKinds } from '../model/token-kind.ts';
import { FieldFault, PushRefusal, refuseField } from '../refusal.ts';
import { readMetadataAt } from './metadata.ts';
import { readWebToken } from './web-subscription.ts';

/** A device to be registered, before it has an id. */
export type Registration = Omit<NewDevice, 'id'>;

/** Whole bytes in hex. Apple specifies no length; today's have 64 or 160 digits. */
const APNS_TOKEN = /^(?:[0-9a-f]{2}){8,200}$/i;
const APNS_TOKEN_RULE = 'must be the hex of 8 to 200 bytes';

/** Sent as a header. Source: push protocol, §3.3 (`missing-bundle-id` is valid, too). */
export const BUNDLE_ID = /^[A-Za-z0-9._-]{1,255}$/;
export const BUNDLE_ID_RULE =
  'must be a string of 1 to 255 letters, digits and the characters . _ -';

const FCM_TOKEN = /^[\x21-\x7e]{1,4096}$/;

const CLIENT_LENGTH_MAX = 300;

/** The fields that differ between platforms. */
type PlatformFields = DeviceToken & Pick<NewDevice, 'bundleId' | 'kind' | 'parent'>;

/**
 * Reads the body of a registration. `client` names the SDK and the browser, from the headers of the request.
 * Source: push protocol, §3.2 and §3.3.
 */
export function readRegistration(
  platform: Platform,
  body: JsonObject,
  { instance, client }: { readonly instance: PushInstance; readonly client: string },
): Registration | PushRefusal {
  const fields = readPlatformFields(platform, body, instance);
  if (fields instanceof PushRefusal) return fields;
  const metadata = readMetadataField(body['metadata']);
  if (metadata instanceof PushRefusal) return metadata;
  return { platform, metadata, client: shortClient(client), ...fields };
}

function readPlatformFields(
  platform: Platform,
  body: JsonObject,
  instance: PushInstance,
): PlatformFields | PushRefusal {
  switch (platform) {
    case 'apns':
      return readApns(body);
    case 'fcm':
      return readFcm(body);
    case 'web':
      return readWeb(body, instance);
    default:
      return platform satisfies never;
  }
}

function readApns(body: JsonObject): PlatformFields | PushRefusal {
  const { token, bundleIdentifier } = body;
  const hex = readApnsToken(token);
  if (hex === undefined) return refuse('token', APNS_TOKEN_RULE);
  if (typeof bundleIdentifier !== 'string' || !BUNDLE_ID.test(bundleIdentifier)) {
    return refuse('bundleIdentifier', BUNDLE_ID_RULE);
  }
  const further = readFurther(body);
  if (further instanceof PushRefusal) return further;
  const { kind } = further;
  return {
    token: kind === undefined ? hex : storedToken(kind, hex),
    identity: apnsIdentity(hex),
    bundleId: bundleIdentifier,
    ...further,
  };
}

/** Reads what a token is for, if it is not the app's ordinary one. */
function readFurther(body: JsonObject): Pick<NewDevice, 'kind' | 'parent'> | PushRefusal {
  const { kind, parentToken } = body;
  if (isGiven(kind) && !isTokenKind(kind)) {
    return refuse('kind', `must be one of ${tokenKinds.join(', ')}`);
  }
  const parent = isGiven(parentToken) ? readApnsToken(parentToken) : undefined;
  if (isGiven(parentToken) && parent === undefined) return refuse('parentToken', APNS_TOKEN_RULE);
  return {
    ...(isTokenKind(kind) && { kind }),
    ...(parent !== undefined && { parent: apnsIdentity(parent) }),
  };
}

/** A token in the form in which it is compared; `undefined`: it is not one of Apple's. */
function readApnsToken(value: unknown): string | undefined {
  return typeof value === 'string' && APNS_TOKEN.test(value) ? value.toLowerCase() : undefined;
}

function apnsIdentity(hex: string): string {
  return tokenIdentity(`apns:${hex}`);
}

function readFcm(body: JsonObject): PlatformFields | PushRefusal {
  const token = readFcmToken(body);
  if (token instanceof PushRefusal) return token;
  const wrongIds = checkPreviousIds(body['knownPreviousClientIds']);
  if (wrongIds !== undefined) return wrongIds;
  // The documentation asks for a bundle id here as well, but the Android SDK sends none, and FCM needs none.
  return { ...token, bundleId: undefined };
}

/** Reads the token of a registered device, by which the device names itself. */
export function readOwnToken(
  platform: Platform,
  body: JsonObject,
  instance: PushInstance,
): DeviceToken | PushRefusal {
  if (platform !== 'apns') return readNewToken(platform, body, instance);
  const hex = readApnsToken(body['token']);
  return hex === undefined
    ? refuse('token', APNS_TOKEN_RULE)
    : { token: hex, identity: apnsIdentity(hex) };
}

/** Reads another token of a registered device: an Android device, or else a browser. */
export function readNewToken(
  platform: Platform | undefined,
  body: JsonObject,
  instance: PushInstance,
): DeviceToken | PushRefusal {
  return platform === 'fcm' ? readFcmToken(body) : readSubscription(body, instance);
}

/** Reads the token of an Android device. The token includes the app. */
function readFcmToken({ token }: JsonObject): DeviceToken | PushRefusal {
  return typeof token === 'string' && FCM_TOKEN.test(token)
    ? { token, identity: tokenIdentity(`fcm:${token}`) }
    : refuse('token', 'must be a string of 1 to 4096 printable ASCII characters without spaces');
}

/**
 * Checks the ids that older versions of the SDK used. Nothing follows from them: the caller is not authenticated, and a
 * device is found by its token. Source: push protocol, §3.3.
 */
function checkPreviousIds(value: unknown): PushRefusal | undefined {
  const isValid =
    !isGiven(value) || (Array.isArray(value) && value.every((id) => typeof id === 'string'));
  return isValid ? undefined : refuse('knownPreviousClientIds', 'must be an array of strings');
}

function readWeb(body: JsonObject, instance: PushInstance): PlatformFields | PushRefusal {
  const read = readSubscription(body, instance);
  return read instanceof PushRefusal ? read : { ...read, bundleId: undefined };
}

function readSubscription({ token }: JsonObject, { web }: PushInstance): DeviceToken | PushRefusal {
  return web === undefined
    ? new PushRefusal('bad-device-request', 'The instance has no web push configured')
    : readWebToken(token, web);
}

function readMetadataField(value: unknown): DeviceMetadata | PushRefusal {
  if (!isGiven(value)) return {};
  return isJsonObject(value)
    ? readMetadataAt(value, 'metadata.')
    : refuse('metadata', 'must be an object');
}

/** Makes text from headers fit to be shown on one line. */
function shortClient(client: string): string {
  return client
    .slice(0, CLIENT_LENGTH_MAX)
    .replace(/\p{Cc}/gu, ' ')
    .toWellFormed();
}

function refuse(field: string, reason: string): PushRefusal {
  return refuseField('bad-device-request', new FieldFault(field, reason));
}
