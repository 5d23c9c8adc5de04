import { type HeaderField, keptField, plainField } from '../../outgoing/http2/header-field.ts';
import type { ApnsHeaders } from '../../push/messages/apns-message.ts';
import type { PublishId } from '../../push/model/publish.ts';

/** Hex; Apple gives no length. */
const TOKEN = /^[0-9a-f]{16,400}$/i;

/** It is sent as a header field. */
const TOPIC = /^[\x21-\x7e]{1,255}$/;

/** The path for one device, or `undefined` where it has no token of Apple's. Source: push protocol, §8.1. */
export function apnsPath(token: string): string | undefined {
  return TOKEN.test(token) ? `/3/device/${token}` : undefined;
}

/** Whether an app can be named so. */
export function isTopic(bundleId: string | undefined): bundleId is string {
  return bundleId !== undefined && TOPIC.test(bundleId);
}

/**
 * The header fields of a publish for all devices that have the same app. Source: push protocol, §5.2 and §8.1.
 *
 * Which of them a connection keeps is Apple's advice: not those that are different for each notification, since
 * they would push out the token. Where the customer did not say what replaces what, the publish replaces itself:
 * it may have to be sent twice, when nobody knows whether the first one arrived.
 */
export function apnsFields(
  { pushType, priority, expiration, collapseId }: ApnsHeaders,
  topic: string,
  publishId: PublishId,
  authorization: HeaderField,
): readonly HeaderField[] {
  return [
    authorization,
    keptField('apns-topic', topic),
    keptField('apns-push-type', pushType),
    ...(priority === undefined ? [] : [keptField('apns-priority', String(priority))]),
    ...(expiration === undefined ? [] : [plainField('apns-expiration', String(expiration))]),
    plainField('apns-collapse-id', collapseId ?? publishId),
  ];
}
