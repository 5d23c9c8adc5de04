import { keptField } from '../../outgoing/http2/header-field.ts';
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

/** A Firebase installation id, which newer apps register in the place of a token. Source: push protocol, §8.2. */
const INSTALLATION_ID = /^[\w-]{22}$/;

/** What all requests say beside who sends. */
export const CONTENT_TYPE = keptField('content-type', 'application/json');

/** The path that messages of a project are posted to. Source: push protocol, §8.2. */
export function fcmPath(projectId: string): string {
  return `/v1/projects/${projectId}/messages:send`;
}

/**
 * The bodies of one publish's requests. They differ in the device alone, so the rest is written once, and again
 * when its time to live has become a second shorter.
 */
export class FcmBodies {
  private readonly message: FcmMessageFields;
  private readonly validateOnly: boolean;
  private readonly endsAtMs: number | undefined;
  private ttlSeconds: number | undefined;
  /** All that follows the device. */
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
    this.keepTime(nowMs);
    const target = INSTALLATION_ID.test(token) ? 'fid' : 'token';
    const start = Buffer.from(`{"message":{"${target}":${JSON.stringify(token)},`);
    return Buffer.concat([start, this.rest]);
  }

  private keepTime(nowMs: number): void {
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
    // There is data in each, so it is not the empty object.
    return Buffer.from(`${JSON.stringify(message).slice(1)}${validateOnly}}`);
  }
}

/**
 * Where the device shows a notification, and the customer did not say what it replaces, it replaces itself: it may
 * have to be sent twice, when nobody knows whether the first one arrived. Not by a collapse key: FCM keeps messages
 * of four keys for a device that is away and drops the others. Source: push protocol, §8.2.
 */
function withTag(message: FcmMessageFields, publishId: PublishId): FcmMessageFields {
  const notification = message.android?.notification;
  if (notification === undefined || (notification['tag'] ?? null) !== null) return message;
  const tagged = {
    ...message,
    android: { ...message.android, notification: { ...notification, tag: publishId } },
  };
  // A double is the lesser evil than none.
  return fcmMessageBytes(tagged) <= FCM_MESSAGE_BYTES_MAX ? tagged : message;
}
