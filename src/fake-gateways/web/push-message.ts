import { vapidFault } from './vapid-check.ts';

/** A message that waits for its browser. */
export interface WaitingMessage {
  readonly topic: string | undefined;
  readonly expiresAtMs: number;
}

/** A refusal in the form of Mozilla's service. `errno` is more exact than the status. */
export interface MessageRefusal {
  readonly ok: false;
  readonly status: number;
  readonly errno: number;
  readonly message: string;
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
  const topic = header('topic');
  if (topic !== undefined && !/^[\w-]{1,32}$/.test(topic)) return refusePush(400, 113);
  return { ok: true, ttlSeconds: Math.min(Number(ttl), TTL_SECONDS_MAX), topic };
}

export function refusePush(status: number, errno: number, message = 'Refused'): MessageRefusal {
  return { ok: false, status, errno, message };
}

/** The JSON text of a refusal. */
export function refusalText({ status, errno, message }: MessageRefusal): string {
  return JSON.stringify({ code: status, errno, error: String(status), message });
}

/** The waiting messages after one has arrived: it replaces one with the same topic. Source: RFC 8030, 5.4. */
export function withMessage<Message extends WaitingMessage>(
  waiting: readonly Message[],
  message: Message,
): readonly Message[] {
  const isReplaced = ({ topic }: Message) => topic !== undefined && topic === message.topic;
  return [...waiting.filter((one) => !isReplaced(one)), message];
}
