import { urgencies } from '../../push/payloads/web.ts';
import { vapidFault } from './vapid-check.ts';

/** A message that waits for its browser. */
export interface WaitingMessage {
  readonly topic: string | undefined;
  readonly expiresAtMs: number;
}

/** A refusal, with its answer as the service writes it. */
export interface MessageRefusal {
  readonly ok: false;
  readonly status: number;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type ReadPush =
  | { readonly ok: true; readonly ttlSeconds: number; readonly topic: string | undefined }
  | MessageRefusal;

/** The subscription that a message is posted to. */
export interface PushTarget {
  readonly origin: string;
  /** The public key that the browser subscribed with, URL-safe base64 without padding. */
  readonly key: string;
}

const JSON_TYPE = { 'content-type': 'application/json' };

const TTL_SECONDS_MAX = 2_592_000;
const BODY_BYTES_MAX = 4096;

/**
 * Checks everything that a push service may check. `header` returns a header by its name in lower case. Sources: RFC
 * 8030, 5, RFC 8292, and for the error numbers autopush-rs, "Error Codes".
 */
export function readPush(
  header: (name: string) => string | undefined,
  body: Uint8Array,
  { origin, key }: PushTarget,
  nowMs: number,
): ReadPush {
  const ttl = header('ttl');
  if (ttl === undefined) return refusePush(400, 111, 'Missing TTL');
  if (!/^\d+$/.test(ttl)) return refusePush(400, 112, `TTL is ${ttl}`);
  const fault = vapidFault(header('authorization'), origin, key, nowMs);
  if (fault !== undefined) return refusePush(401, 109, fault);
  if (body.length > BODY_BYTES_MAX) return refusePush(413, 104);
  const encoding = header('content-encoding');
  if (body.length > 0 && encoding !== 'aes128gcm') {
    return refusePush(400, 110, `Content-Encoding is ${encoding}`);
  }
  const urgency = header('urgency');
  if (urgency !== undefined && !urgencies.some((one) => one === urgency)) {
    return refusePush(400, undefined, `Urgency is ${urgency}`);
  }
  const topic = header('topic');
  const { hostname } = new URL(origin);
  if (topic !== undefined && !/^[\w-]{1,32}$/.test(topic)) return refusePush(400, 113);
  if (topic !== undefined && topic.length % 4 === 1 && isBelow(hostname, 'push.apple.com')) {
    return refuseAsApple('BadWebPushTopic');
  }
  const ttlSeconds = Math.min(Number(ttl), TTL_SECONDS_MAX);
  if (isBelow(hostname, 'notify.windows.com')) {
    // Without the field, messages are kept.
    const keeps = (header('x-wns-cache-policy') ?? 'cache') === 'cache';
    if (keeps !== ttlSeconds > 0) {
      return refuseAsWindows('Ttl value conflicts with X-WNS-Cache-Policy.');
    }
  }
  return { ok: true, ttlSeconds, topic };
}

function isBelow(hostname: string, domain: string): boolean {
  return hostname.endsWith(`.${domain}`);
}

/** Refuses in the form of Mozilla's service, whose `errno` is more exact than the status. */
export function refusePush(
  status: number,
  errno: number | undefined,
  message = 'Refused',
): MessageRefusal {
  const body = JSON.stringify({ code: status, errno, error: String(status), message });
  return { ok: false, status, message, headers: JSON_TYPE, body };
}

/** Source: Apple, "Sending web push notifications in web apps and browsers". */
function refuseAsApple(reason: string): MessageRefusal {
  const body = JSON.stringify({ reason });
  return { ok: false, status: 400, message: reason, headers: JSON_TYPE, body };
}

/** Windows explains in the header. Source: web-push-libs/pywebpush#162. */
function refuseAsWindows(description: string): MessageRefusal {
  const headers = {
    'x-wns-error-description': description,
    'x-wns-status': 'dropped',
    'x-wns-notificationstatus': 'dropped',
  };
  return { ok: false, status: 400, message: description, headers, body: '' };
}

/** The waiting messages after one has arrived: it replaces one with the same topic. Source: RFC 8030, 5.4. */
export function withMessage<Message extends WaitingMessage>(
  waiting: readonly Message[],
  message: Message,
): readonly Message[] {
  const isReplaced = ({ topic }: Message) => topic !== undefined && topic === message.topic;
  return [...waiting.filter((one) => !isReplaced(one)), message];
}
