import { keptField } from '../../outgoing/http2/hpack/header-field.ts';
import type { Notification } from '../../push/gateway.ts';
import {
  FCM_MESSAGE_BYTES_MAX,
  type FcmMessage,
  type FcmMessageFields,
  fcmMessage,
  fcmMessageBytes,
} from '../../push/messages/fcm-message.ts';
import type { PublishId } from '../../push/model/publish.ts';
import type { FcmPayload } from '../../push/payloads/fcm.ts';

/** A Firebase installation id, which newer apps register instead of a token. Source: push protocol, §8.2. */
const INSTALLATION_ID = /^[\w-]{22}$/;

export const CONTENT_TYPE = keptField('content-type', 'application/json');

/** The path that messages of a project are posted to. Source: push protocol, §8.2. */
export function fcmPath(projectId: string): string {
  return `/v1/projects/${projectId}/messages:send`;
}

/**
 * The bodies of one publish's requests. They differ only in the device, so the rest is serialised once, and again each
 * time its time to live gets a second shorter.
 */
export class FcmBodies {
  private readonly message: FcmMessageFields;
  private readonly validateOnly: boolean;
  private readonly endsAtMs: number | undefined;
  private ttlSeconds: number | undefined;
  /** The bytes after the device. */
  private rest: Buffer;

  constructor(notification: Notification<FcmPayload>) {
    const { payload, publishId, acceptedAtMs } = notification;
    const { message, validateOnly }: FcmMessage = fcmMessage(payload, notification);
    this.message = withTag(message, publishId);
    this.validateOnly = validateOnly;
    const { timeToLiveSeconds } = payload;
    this.endsAtMs =
      timeToLiveSeconds === undefined ? undefined : acceptedAtMs + timeToLiveSeconds * 1000;
    this.ttlSeconds = timeToLiveSeconds;
    this.rest = this.write();
  }

  /** The body for one device. */
  of(token: string, nowMs: number): Buffer {
    this.updateTtl(nowMs);
    const target = INSTALLATION_ID.test(token) ? 'fid' : 'token';
    const start = Buffer.from(`{"message":{"${target}":${JSON.stringify(token)},`);
    return Buffer.concat([start, this.rest]);
  }

  private updateTtl(nowMs: number): void {
    if (this.endsAtMs === undefined) return;
    const ttlSeconds = Math.max(0, Math.ceil((this.endsAtMs - nowMs) / 1000));
    if (ttlSeconds === this.ttlSeconds) return;
    this.ttlSeconds = ttlSeconds;
    this.rest = this.write();
  }

  private write(): Buffer {
    const { android, ...others } = this.message;
    const ttl = this.ttlSeconds === undefined ? undefined : `${this.ttlSeconds}s`;
    const message = android === undefined ? others : { ...others, android: { ...android, ttl } };
    const validateOnly = this.validateOnly ? ',"validate_only":true' : '';
    // A message always has data, so this is never the empty object.
    return Buffer.from(`${JSON.stringify(message).slice(1)}${validateOnly}}`);
  }
}

/**
 * Gives a visible notification a tag, unless the publisher gave one, so that a notification sent twice is shown once.
 * A collapse key would not do: FCM keeps messages of four keys for an offline device and drops the others. Source:
 * push protocol, §8.2.
 */
function withTag(message: FcmMessageFields, publishId: PublishId): FcmMessageFields {
  const notification = message.android?.notification;
  if (notification === undefined || (notification['tag'] ?? null) !== null) return message;
  const tagged = {
    ...message,
    android: { ...message.android, notification: { ...notification, tag: publishId } },
  };
  // A duplicate is better than a message that is too large.
  return fcmMessageBytes(tagged) <= FCM_MESSAGE_BYTES_MAX ? tagged : message;
}
