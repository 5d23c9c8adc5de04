import type { Platform } from '../push/model/device.ts';
import type { Arrival } from './notification-server.ts';
import type { PostedMessage } from './web/fake-web-push.ts';

/** A notification that arrived, in the same form for all fake gateways. */
export interface ReceivedNotification {
  readonly gateway: Platform;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** The token of the device, or the endpoint of the browser. */
  readonly to: string;
  /** The status of the answer; `null`: no answer. */
  readonly status: number | null;
  /** Why it was refused or could not be decrypted. */
  readonly reason: string | null;
  /** The header fields that concern the notification. */
  readonly headers: Readonly<Record<string, string>>;
  /** What the device gets, or the request to FCM; `null` if it could not be read. */
  readonly message: unknown;
}

const WEB_HEADERS = ['ttl', 'urgency', 'topic', 'x-wns-cache-policy', 'content-encoding'] as const;

export function receivedByHttp2(gateway: 'apns' | 'fcm', arrival: Arrival): ReceivedNotification {
  const { atMs, token, fields, payload, status, reason } = arrival;
  // FCM has no header fields of its own.
  const headers = Object.entries(fields).filter(([name]) => name.startsWith('apns-'));
  return {
    gateway,
    atMs,
    to: token,
    status: status ?? null,
    reason: reason ?? null,
    headers: Object.fromEntries(headers),
    message: readJson(payload),
  };
}

export function receivedByWeb(posted: PostedMessage, atMs: number): ReceivedNotification {
  const { endpoint, status, fault, headers, text } = posted;
  const shown = WEB_HEADERS.map((name) => [name, headers.get(name)] as const);
  return {
    gateway: 'web',
    atMs,
    to: endpoint,
    status: status ?? null,
    reason: fault ?? null,
    headers: Object.fromEntries(shown.flatMap(([name, value]) => (value ? [[name, value]] : []))),
    message: readJson(text),
  };
}

function readJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? 'null');
  } catch (error) {
    // Text that is not JSON is shown as it is.
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}
