import type { ApnsTokenFault } from './token-check.ts';

export type ApnsFault =
  | ApnsTokenFault
  | 'BadCollapseId'
  | 'BadDeviceToken'
  | 'BadExpirationDate'
  | 'BadPath'
  | 'BadPriority'
  | 'InvalidPushType'
  | 'MethodNotAllowed'
  | 'MissingTopic'
  | 'PayloadEmpty'
  | 'PayloadTooLarge';

/** The status of each fault. Source: push protocol, §8.1. */
export const apnsStatuses: Readonly<Record<ApnsFault, number>> = {
  BadCollapseId: 400,
  BadDeviceToken: 400,
  BadExpirationDate: 400,
  BadPriority: 400,
  InvalidPushType: 400,
  MissingTopic: 400,
  PayloadEmpty: 400,
  ExpiredProviderToken: 403,
  InvalidProviderToken: 403,
  MissingProviderToken: 403,
  BadPath: 404,
  MethodNotAllowed: 405,
  PayloadTooLarge: 413,
  TooManyProviderTokenUpdates: 429,
};

const PAYLOAD_BYTES_MAX = 4096;
const COLLAPSE_ID_BYTES_MAX = 64;

const TOKEN = /^(?:[0-9a-f]{2}){8,200}$/i;

const PUSH_TYPES: readonly string[] = [
  'alert',
  'background',
  'voip',
  'complication',
  'fileprovider',
  'mdm',
  'location',
  'liveactivity',
  'pushtotalk',
  'widgets',
];

/** The only priorities that a background notification may have. */
const LOW_PRIORITIES: readonly string[] = ['1', '5'];
const PRIORITIES: readonly string[] = [...LOW_PRIORITIES, '10'];

/** What is wrong with a notification, apart from its provider token. Source: push protocol, §8.1. */
export function apnsFault(
  { fields, body }: { readonly fields: ReadonlyMap<string, string>; readonly body: Uint8Array },
  token: string | undefined,
): ApnsFault | undefined {
  if (fields.get(':method') !== 'POST') return 'MethodNotAllowed';
  if (token === undefined) return 'BadPath';
  if (!TOKEN.test(token)) return 'BadDeviceToken';
  if (!fields.get('apns-topic')) return 'MissingTopic';
  const pushType = fields.get('apns-push-type');
  if (pushType !== undefined && !PUSH_TYPES.includes(pushType)) return 'InvalidPushType';
  const priority = fields.get('apns-priority');
  const allowed = pushType === 'background' ? LOW_PRIORITIES : PRIORITIES;
  if (priority !== undefined && !allowed.includes(priority)) return 'BadPriority';
  if (!/^\d{1,16}$/.test(fields.get('apns-expiration') ?? '0')) return 'BadExpirationDate';
  const collapseId = fields.get('apns-collapse-id') ?? '';
  if (Buffer.byteLength(collapseId) > COLLAPSE_ID_BYTES_MAX) return 'BadCollapseId';
  if (body.length === 0) return 'PayloadEmpty';
  return body.length > PAYLOAD_BYTES_MAX ? 'PayloadTooLarge' : undefined;
}
