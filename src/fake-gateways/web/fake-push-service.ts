import { randomBytes, randomUUID } from 'node:crypto';
import { newP256Pair } from '../p256.ts';
import { type BrowserKeys, decryptMessage } from './decryption.ts';
import {
  type MessageRefusal,
  readPush,
  refusePush,
  type WaitingMessage,
  withMessage,
} from './push-message.ts';

/** A subscription as a web page gets it from its browser. */
export interface FakeSubscription {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
  /** The token that the web SDK registers the device with. */
  readonly token: string;
}

/** How a posted message is answered. */
export interface PushVerdict {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The decrypted text, if the message was accepted. */
  readonly text: string | undefined;
  /** Why it was refused, or why the browser cannot read it. */
  readonly fault: string | undefined;
}

interface Waiting extends WaitingMessage {
  readonly text: string;
}

interface Endpoint {
  /** The public key that the browser subscribed with. */
  readonly key: string;
  readonly browser: BrowserKeys;
  isGone: boolean;
  waiting: readonly Waiting[];
}

const PATH = '/wpush/v2/';

/** The limit of messages that wait for one browser, as at Google. */
const WAITING_MAX = 100;

/** A push service that checks everything, and its browsers, which are offline until they collect their messages. */
export class FakePushService {
  private readonly origin: string;
  private readonly endpoints = new Map<string, Endpoint>();

  constructor(origin: string) {
    this.origin = origin;
  }

  /** Subscribes a new browser. `key` is the public VAPID key, URL-safe base64. */
  subscribe(key: string): FakeSubscription {
    const browser = { pair: newP256Pair(), auth: randomBytes(16) };
    const path = PATH + randomBytes(48).toString('base64url');
    this.endpoints.set(path, { key: key.replace(/=+$/, ''), browser, isGone: false, waiting: [] });
    const endpoint = this.origin + path;
    const keys = { p256dh: browser.pair.publicText, auth: browser.auth.toString('base64url') };
    const subscription = JSON.stringify({ endpoint, expirationTime: null, keys });
    return { endpoint, keys, token: Buffer.from(subscription).toString('base64') };
  }

  /** The browser has unsubscribed. */
  unsubscribe(endpoint: string): void {
    this.find(endpoint).isGone = true;
  }

  /** The browser comes online. Returns the texts that still wait for it, the oldest first. */
  collect(endpoint: string, nowMs: number): readonly string[] {
    const found = this.find(endpoint);
    const texts = found.waiting.filter(({ expiresAtMs }) => expiresAtMs > nowMs);
    found.waiting = [];
    return texts.map(({ text }) => text);
  }

  /** Handles a posted message as a real service does. `header` returns a header by its name in lower case. */
  receive(
    path: string,
    header: (name: string) => string | undefined,
    body: Uint8Array,
    nowMs: number,
  ): PushVerdict {
    const endpoint = this.endpoints.get(path);
    if (endpoint === undefined) return refuse(refusePush(404, 102, 'No such endpoint'));
    if (endpoint.isGone) return refuse(refusePush(410, 106, 'Unsubscribed'));
    const { origin } = this;
    const push = readPush(header, body, { origin, key: endpoint.key }, nowMs);
    if (!push.ok) return refuse(push);

    const { ttlSeconds, topic } = push;
    const read = decryptMessage(body, endpoint.browser);
    if (read.ok && ttlSeconds > 0) {
      const message = { topic, expiresAtMs: nowMs + ttlSeconds * 1000, text: read.text };
      endpoint.waiting = withMessage(endpoint.waiting, message).slice(-WAITING_MAX);
    }
    return {
      status: 201,
      headers: { location: `${origin}/m/${randomUUID()}`, ttl: String(ttlSeconds) },
      body: '',
      text: read.ok ? read.text : undefined,
      fault: read.ok ? undefined : read.why,
    };
  }

  private find(endpoint: string): Endpoint {
    const found = this.endpoints.get(endpoint.slice(this.origin.length));
    if (found === undefined) throw new Error(`There is no endpoint ${endpoint}`);
    return found;
  }
}

function refuse({ status, headers, body, message }: MessageRefusal): PushVerdict {
  return { status, headers, body, text: undefined, fault: message };
}
