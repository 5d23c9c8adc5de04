import { createHmac, randomUUID } from 'node:crypto';
import { newP256Pair } from '../../src/fake-gateways/p256.ts';
import { INSTANCE } from '../servers/push-server.ts';
import { type RawAnswer, RawHttp, type RawRequest } from './raw-http.ts';

/** Requests of backends and devices to the push API, as values; and a connection that sends each exactly once. */

const JSON_BODY = { 'content-type': 'application/json' };

/** One key for all browsers, since nothing is sent to them. */
const BROWSER_KEY = newP256Pair().publicText;

export interface PublishOptions {
  readonly idempotencyKey?: string;
}

/** The requests of one instance. */
export class PushRequests {
  private readonly id: string;
  private readonly secretKey: string;

  constructor({ id, secretKey }: { readonly id: string; readonly secretKey: string } = INSTANCE) {
    this.id = id;
    this.secretKey = secretKey;
  }

  /** To interests or to users, depending on the body. */
  publish(body: object, { idempotencyKey }: PublishOptions = {}): RawRequest {
    const kind = 'users' in body ? 'users' : 'interests';
    return {
      method: 'POST',
      target: `/publish_api/v1/instances/${this.id}/publishes/${kind}`,
      headers: {
        ...JSON_BODY,
        ...this.backend(),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body: JSON.stringify(body),
    };
  }

  readPublish(publishId: string): RawRequest {
    const target = `/publish_api/v1/instances/${this.id}/publishes/${publishId}`;
    return { method: 'GET', target, headers: this.backend() };
  }

  deleteUser(userId: string): RawRequest {
    const target = `/customer_api/v1/instances/${this.id}/users/${encodeURIComponent(userId)}`;
    return { method: 'DELETE', target, headers: this.backend() };
  }

  registerFcm(token: string): RawRequest {
    const metadata = { sdkVersion: '1.10.0', androidVersion: '16' };
    return this.register('fcm', { token, knownPreviousClientIds: [], metadata });
  }

  /** A browser whose push service knows it by this name. */
  registerWeb(name: string): RawRequest {
    const keys = { p256dh: BROWSER_KEY, auth: 'BTBZMqHH6r4Tts7J_aSIgg' };
    const endpoint = `https://localhost/wpush/${name}`;
    const token = btoa(JSON.stringify({ endpoint, expirationTime: null, keys }));
    return this.register('web', { token, metadata: { sdkVersion: '2.1.0' } });
  }

  readDevice(deviceId: string): RawRequest {
    return { method: 'GET', target: this.device(deviceId) };
  }

  deleteDevice(deviceId: string): RawRequest {
    return { method: 'DELETE', target: this.device(deviceId) };
  }

  readInterests(deviceId: string): RawRequest {
    return { method: 'GET', target: `${this.device(deviceId)}/interests` };
  }

  setInterests(deviceId: string, interests: readonly string[]): RawRequest {
    const target = `${this.device(deviceId)}/interests`;
    return { method: 'PUT', target, headers: JSON_BODY, body: JSON.stringify({ interests }) };
  }

  addInterest(deviceId: string, interest: string): RawRequest {
    return { method: 'POST', target: `${this.device(deviceId)}/interests/${interest}` };
  }

  /** With the token that a backend makes; it ends at this second. */
  setUser(
    deviceId: string,
    userId: string,
    endsSeconds = Math.floor(Date.now() / 1000) + 3600,
  ): RawRequest {
    const authorization = `Bearer ${this.beamsToken(userId, endsSeconds)}`;
    return { method: 'PUT', target: `${this.device(deviceId)}/user`, headers: { authorization } };
  }

  report(report: object): RawRequest {
    return {
      method: 'POST',
      target: `/reporting_api/v2/instances/${this.id}/events`,
      headers: JSON_BODY,
      body: JSON.stringify(report),
    };
  }

  private register(platform: string, body: object): RawRequest {
    return {
      method: 'POST',
      target: `/device_api/v1/instances/${this.id}/devices/${platform}`,
      headers: JSON_BODY,
      body: JSON.stringify(body),
    };
  }

  private device(deviceId: string): string {
    const [platform] = deviceId.split('-', 1);
    return `/device_api/v1/instances/${this.id}/devices/${platform}/${deviceId}`;
  }

  private backend(): Readonly<Record<string, string>> {
    return { authorization: `Bearer ${this.secretKey}` };
  }

  /** As the libraries for servers make it. Source: push protocol, §2.5. */
  private beamsToken(userId: string, endsSeconds: number): string {
    const iss = `https://${this.id}.pushnotifications.pusher.com`;
    const parts = [
      { alg: 'HS256', typ: 'JWT' },
      { sub: userId, exp: endsSeconds, iss },
    ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
    const signed = parts.join('.');
    return `${signed}.${createHmac('sha256', this.secretKey).update(signed).digest('base64url')}`;
  }
}

/** The audience of a publish. */
export interface PublishTarget {
  readonly interests?: readonly string[];
  readonly users?: readonly string[];
}

/**
 * The body of a publish to an interest without devices. Its marker distinguishes it from all others, also once it is
 * finished and the store keeps only its audience.
 */
export function markedPublish(
  marker: string,
  { interests = ['news'], users }: PublishTarget = {},
): object {
  const target =
    users === undefined ? { interests: [...interests, marker] } : { users: [...users, marker] };
  return { ...target, web: { notification: { title: 'Hello' } } };
}

/** A marker that nothing else has. */
export function newMarker(): string {
  return `marker-${randomUUID()}`;
}

/** An answer of the push API. */
export interface PushAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** `{}` if the body is empty. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** One connection to a push listener. Nothing is ever sent twice on it. */
export class PushConnection implements AsyncDisposable {
  private readonly http: RawHttp;
  private ignores = false;

  private constructor(http: RawHttp) {
    this.http = http;
  }

  static async open(server: { readonly pushPort: number }): Promise<PushConnection> {
    return new PushConnection(await RawHttp.open({ port: server.pushPort }));
  }

  /** Fails if the connection ends before the whole answer has come. */
  async request(request: RawRequest): Promise<PushAnswer> {
    const answer = received(await this.http.request(request));
    if (this.ignores) throw new Error('The answer came too late');
    return answer;
  }

  /** From now on every request fails, and so do those whose answers were not read yet. */
  ignoreAnswers(): void {
    this.ignores = true;
  }

  /** Fails unless the answer is 200. */
  async requestOk(request: RawRequest): Promise<PushAnswer['json']> {
    const { status, json } = await this.request(request);
    if (status !== 200) {
      throw new Error(`${request.method} ${request.target}: ${status} ${JSON.stringify(json)}`);
    }
    return json;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.http[Symbol.asyncDispose]();
  }
}

function received({ status, headers, body }: RawAnswer): PushAnswer {
  return {
    status,
    retryAfter: headers.get('retry-after'),
    json: body === '' ? {} : JSON.parse(body),
  };
}

/** Sends one request on a connection of its own. */
export async function requestPush(
  server: { readonly pushPort: number },
  request: RawRequest,
): Promise<PushAnswer> {
  await using connection = await PushConnection.open(server);
  return await connection.request(request);
}
