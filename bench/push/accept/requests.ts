import { type BenchInstance, benchInstances } from './bench-instances.ts';

/** What is accepted: each is answered with an id once it is durable. */
export type Kind = 'publishes' | 'registrations';

/** Bytes of requests ready to be written to a socket. What is given is only good until the next is asked for. */
export interface RequestSource {
  next(): Uint8Array;
}

/** The length of an FCM token: an installation's id, a colon, and the rest. */
const TOKEN_ID_CHARACTERS = 22;
const TOKEN_REST = `APA91b${'Fanfare-Bench_'.repeat(10)}`.slice(0, 140);

const publishBody = JSON.stringify({
  interests: ['hello'],
  apns: { aps: { alert: { title: 'Hello', body: 'Your order has left the warehouse.' } } },
  fcm: { notification: { title: 'Hello', body: 'Your order has left the warehouse.' } },
  web: { notification: { title: 'Hello', body: 'Your order has left the warehouse.' } },
});

export function requestsOf(kind: Kind, port: number): RequestSource {
  return kind === 'publishes' ? new Publishes(port) : new Registrations(port);
}

/** Publishes to one interest, by all instances in turn. */
class Publishes implements RequestSource {
  private readonly requests: readonly Uint8Array[];
  private sent = 0;

  constructor(port: number) {
    this.requests = benchInstances.map(({ id, secretKey }) =>
      request(port, `/publish_api/v1/instances/${id}/publishes/interests`, publishBody, [
        `Authorization: Bearer ${secretKey}`,
      ]),
    );
  }

  next(): Uint8Array {
    const { requests, sent } = this;
    this.sent += 1;
    return requests[sent % requests.length] ?? new Uint8Array();
  }
}

/** Registrations of Android devices with all instances in turn, each with a new token. */
class Registrations implements RequestSource {
  private readonly requests: readonly { readonly bytes: Buffer; readonly tokenAt: number }[];
  private sent = 0;

  constructor(port: number) {
    const token = `${tokenId(0)}:${TOKEN_REST}`;
    this.requests = benchInstances.map((instance) => {
      const bytes = registration(port, instance, token);
      return { bytes, tokenAt: bytes.indexOf(token) };
    });
  }

  next(): Uint8Array {
    const { requests, sent } = this;
    const one = requests[sent % requests.length];
    if (one === undefined) return new Uint8Array();
    this.sent += 1;
    // Only the differing parts are written: building a whole request would cost more than sending it.
    one.bytes.write(tokenId(this.sent), one.tokenAt, 'latin1');
    return one.bytes;
  }
}

function tokenId(number: number): string {
  return number.toString(36).padStart(TOKEN_ID_CHARACTERS, '0');
}

function registration(port: number, { id }: BenchInstance, token: string): Buffer {
  const metadata = { sdkVersion: '1.9.2', androidVersion: '14' };
  const body = JSON.stringify({ token, knownPreviousClientIds: [], metadata });
  return request(port, `/device_api/v1/instances/${id}/devices/fcm`, body, []);
}

function request(port: number, path: string, body: string, headers: readonly string[]): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    ...headers,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}
