import {
  type HeaderField,
  keptField,
  plainField,
} from '../../outgoing/http2/hpack/header-field.ts';
import type { Notification } from '../../push/gateway.ts';
import type { PublishId } from '../../push/model/publish.ts';
import { type Urgency, urgencies, type WebPayload } from '../../push/payloads/web.ts';
import type { Sender } from '../../runtime/fairness/sender-queue.ts';
import { isWindows, windowsCachePolicy } from './windows.ts';

/** A request that sends one message to a push service. */
export interface WebPushRequest {
  readonly path: string;
  readonly fields: readonly HeaderField[];
  readonly body: Uint8Array<ArrayBuffer>;
  /** For fairness: several instances share the connections to a push service. */
  readonly sender: Sender;
  /** Whether the operator has not named the push service, so that anybody may have chosen it. */
  readonly isOpen: boolean;
}

/** Header fields of all messages. Sources: RFC 8030, 5.3, and RFC 8291, 4. */
const SAME_FOR_ALL: readonly HeaderField[] = [
  keptField('content-encoding', 'aes128gcm'),
  keptField('content-type', 'application/octet-stream'),
];

/** The fields above with each urgency. */
const sameForAll: ReadonlyMap<Urgency, readonly HeaderField[]> = new Map(
  urgencies.map((urgency) => [urgency, [...SAME_FOR_ALL, keptField('urgency', urgency)]]),
);

/**
 * Push services to which messages go without a topic of ours. Google keeps messages of four topics for an offline browser and
 * drops the others, so a topic for each publish would lose messages; a duplicate is better.
 * Sources: Firebase, "Non-collapsible and collapsible messages"; webpush-wg/webpush-protocol#62.
 */
const WITHOUT_TOPIC = /(?:^|\.)(?:googleapis|google)\.com$/;

/** Makes the header fields of one publish's messages, without `Authorization`. */
export class WebPushFields {
  private readonly same: readonly HeaderField[];
  private readonly topic: HeaderField;
  /** Whether the publish names a topic, which every push service gets. */
  private readonly isTopicGiven: boolean;
  private readonly endsAtMs: number;
  private ttlSeconds = -1;
  private fields: readonly HeaderField[] = [];
  private fieldsWithTopic: readonly HeaderField[] = [];

  constructor({ publishId, acceptedAtMs, payload }: Notification<WebPayload>) {
    this.same = sameForAll.get(payload.urgency) ?? SAME_FOR_ALL;
    this.isTopicGiven = payload.topic !== undefined;
    this.topic = plainField('topic', payload.topic ?? topicOf(publishId));
    this.endsAtMs = acceptedAtMs + payload.timeToLiveSeconds * 1000;
  }

  /** `hostname` is that of the push service. */
  at(nowMs: number, hostname: string): readonly HeaderField[] {
    const ttlSeconds = Math.max(0, Math.ceil((this.endsAtMs - nowMs) / 1000));
    if (ttlSeconds !== this.ttlSeconds) {
      this.ttlSeconds = ttlSeconds;
      this.fields = [...this.same, plainField('ttl', String(ttlSeconds))];
      this.fieldsWithTopic = [...this.fields, this.topic];
    }
    if (!this.isTopicGiven && WITHOUT_TOPIC.test(hostname)) return this.fields;
    return isWindows(hostname)
      ? [...this.fieldsWithTopic, windowsCachePolicy(ttlSeconds)]
      : this.fieldsWithTopic;
  }
}

/**
 * A waiting message with the same topic is replaced, so a topic for each publish lets a message sent twice be shown once.
 * The 32 hexadecimal digits of the publish id are as long as a topic may be, and valid base64, which Apple insists on.
 * Source: RFC 8030, 5.4.
 */
function topicOf(publishId: PublishId): string {
  return publishId.replace(/^pubid-/, '').replaceAll('-', '');
}
