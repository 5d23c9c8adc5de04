import {
  type HeaderField,
  keptField,
  plainField,
} from '../../outgoing/http2/hpack/header-field.ts';
import type { ApnsHeaders } from '../../push/messages/apns-message.ts';
import { isFurther } from '../../push/model/apns-push-types.ts';
import type { PublishId } from '../../push/model/publish.ts';

/** Hexadecimal; Apple specifies no length. */
const TOKEN = /^[0-9a-f]{16,400}$/i;

/** Printable ASCII, because it is sent as a header field. */
const TOPIC = /^[\x21-\x7e]{1,255}$/;

/** The path for one device; `undefined` if the token is not one of Apple's. Source: push protocol, §8.1. */
export function apnsPath(token: string): string | undefined {
  return TOKEN.test(token) ? `/3/device/${token}` : undefined;
}

/** Whether a text can be sent as the topic. */
export function isTopic(text: string | undefined): text is string {
  return text !== undefined && TOPIC.test(text);
}

/**
 * The header fields of a publish for all devices with the same app. Source: push protocol, §5.2 and §8.1.
 *
 * Apple advises which of them to keep in the dynamic table: not those that differ between notifications, since they
 * would push out the token. Without a collapse id of the publisher, the publish id is one, so that a notification sent
 * twice is shown once. Further types get none: only notifications are shown.
 */
export function apnsFields(
  { pushType, priority, expiration, collapseId }: ApnsHeaders,
  topic: string,
  publishId: PublishId,
  authorization: HeaderField,
): readonly HeaderField[] {
  const collapse = collapseId ?? (isFurther(pushType) ? undefined : publishId);
  return [
    authorization,
    keptField('apns-topic', topic),
    keptField('apns-push-type', pushType),
    ...(priority === undefined ? [] : [keptField('apns-priority', String(priority))]),
    ...(expiration === undefined ? [] : [plainField('apns-expiration', String(expiration))]),
    ...(collapse === undefined ? [] : [plainField('apns-collapse-id', collapse)]),
  ];
}
