import { type ApnsPushType, isPushType, pushTypes } from '../../push/model/apns-push-types.ts';
import { activityFault } from './activity-check.ts';
import type { ApnsTokenFault } from './token-check.ts';

export type ApnsFault =
  | ApnsTokenFault
  | 'BadCollapseId'
  | 'BadDeviceToken'
  | 'BadExpirationDate'
  | 'BadPath'
  | 'BadPriority'
  | 'BadRequestPayload'
  | 'DeviceTokenNotForTopic'
  | 'InvalidPushType'
  | 'MethodNotAllowed'
  | 'MissingTopic'
  | 'PayloadEmpty'
  | 'PayloadTooLarge'
  | 'TopicDisallowed';

/** The status of each fault. Source: push protocol, §8.1. */
export const apnsStatuses: Readonly<Record<ApnsFault, number>> = {
  BadCollapseId: 400,
  BadDeviceToken: 400,
  BadExpirationDate: 400,
  BadPriority: 400,
  BadRequestPayload: 400,
  DeviceTokenNotForTopic: 400,
  InvalidPushType: 400,
  MissingTopic: 400,
  PayloadEmpty: 400,
  TopicDisallowed: 400,
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

/** Known to Apple, but not sent by this server: its topic comes from a certificate. */
const OF_CERTIFICATES = 'mdm';

const PRIORITIES: readonly number[] = [10, 5, 1];

const suffixes = Object.values(pushTypes)
  .map(({ suffix }) => suffix)
  .filter((suffix) => suffix !== '');

/** What is wrong with a notification, apart from its provider token. Source: push protocol, §8.1. */
export function apnsFault(
  { fields, body }: { readonly fields: ReadonlyMap<string, string>; readonly body: Uint8Array },
  token: string | undefined,
): ApnsFault | undefined {
  if (fields.get(':method') !== 'POST') return 'MethodNotAllowed';
  if (token === undefined) return 'BadPath';
  if (!TOKEN.test(token)) return 'BadDeviceToken';
  const topic = fields.get('apns-topic');
  if (!topic) return 'MissingTopic';
  const given = fields.get('apns-push-type') ?? 'alert';
  const type = isPushType(given) ? given : undefined;
  if (type === undefined && given !== OF_CERTIFICATES) return 'InvalidPushType';
  if (type !== undefined && !isTopicOf(type, topic)) return 'TopicDisallowed';
  const priority = fields.get('apns-priority');
  const allowed: readonly number[] = type === undefined ? PRIORITIES : pushTypes[type].priorities;
  if (priority !== undefined && !allowed.map(String).includes(priority)) return 'BadPriority';
  if (!/^\d{1,16}$/.test(fields.get('apns-expiration') ?? '0')) return 'BadExpirationDate';
  const collapseId = fields.get('apns-collapse-id') ?? '';
  if (Buffer.byteLength(collapseId) > COLLAPSE_ID_BYTES_MAX) return 'BadCollapseId';
  if (body.length === 0) return 'PayloadEmpty';
  const bytesMax = type === undefined ? PAYLOAD_BYTES_MAX : pushTypes[type].bytesMax;
  if (body.length > bytesMax) return 'PayloadTooLarge';
  return type === 'liveactivity' ? activityFault(body) : undefined;
}

/** Whether a topic has the suffix of a push type, and of no other. */
function isTopicOf(type: ApnsPushType, topic: string): boolean {
  const { suffix } = pushTypes[type];
  return suffix === ''
    ? !suffixes.some((other) => topic.endsWith(other))
    : topic.endsWith(suffix) && topic.length > suffix.length;
}
