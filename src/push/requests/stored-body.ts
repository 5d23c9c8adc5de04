import { isJsonObject, type JsonObject } from '../../runtime/json-object.ts';
import { type Platform, platforms } from '../model/device.ts';
import type { PublishTarget } from '../model/publish.ts';
import { apnsFields } from '../payloads/apns.ts';
import { fcmFields } from '../payloads/fcm.ts';
import { webFields } from '../payloads/web.ts';

/** Bodies with documented fields only are stored unchanged, including spaces, up to this length in characters. */
const AS_WRITTEN_MAX = 16 * 1024;

const payloadFields: Readonly<Record<Platform, readonly string[]>> = {
  apns: apnsFields,
  fcm: fcmFields,
  web: webFields,
};

/**
 * Makes the body that is stored until the publish is finished: without undocumented fields. With a webhook, all of it is
 * kept, as the webhook gets the request unchanged. Source: push protocol, §4.4.
 */
export function bodyToKeep(kind: PublishTarget['kind'], fields: JsonObject, text: string): string {
  const known = [
    kind,
    'webhookUrl',
    'sendAt',
    'sendAtLocal',
    'urgent',
    'perSecond',
    'texts',
    'live',
    ...platforms,
  ];
  if (typeof fields['webhookUrl'] === 'string') return text;
  const kept = only(fields, known);
  for (const platform of platforms) {
    const payload = kept[platform];
    if (isJsonObject(payload)) kept[platform] = only(payload, payloadFields[platform]);
  }
  // Usually nothing was left out, and the text need not be written again.
  const isWhole =
    hasAsManyFields(kept, fields) &&
    platforms.every((platform) => hasAsManyFields(kept[platform], fields[platform]));
  return isWhole && text.length <= AS_WRITTEN_MAX ? text : JSON.stringify(kept);
}

function only(fields: JsonObject, names: readonly string[]): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const name of names) {
    if (Object.hasOwn(fields, name)) kept[name] = fields[name];
  }
  return kept;
}

function hasAsManyFields(kept: unknown, given: unknown): boolean {
  return (
    !isJsonObject(kept) ||
    !isJsonObject(given) ||
    Object.keys(kept).length === Object.keys(given).length
  );
}
