import { expect } from 'bun:test';
import { createHmac, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newP256Pair } from '../../../src/fake-gateways/p256.ts';
import type { Platform } from '../../../src/push/model/device.ts';
import { type AdminServer, admin, everyServerTakes } from '../../../testing/clients/admin-api.ts';
import { type RawAnswer, RawHttp, type RawRequest } from '../../../testing/clients/raw-http.ts';
import { eventually } from '../../../testing/eventually.ts';
import { configOf, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';

/** The instance of most tests. It has two secret keys, as during a rotation, and web push. */
export const INSTANCE = {
  id: '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c',
  secretKey: 'A3F1C0D95B7E4286A3F1C0D95B7E4286A3F1C0D95B7E4286A3F1C0D95B7E4286',
  nextKey: '0B1C2D3E4F5061720B1C2D3E4F5061720B1C2D3E4F5061720B1C2D3E4F506172',
} as const;

/** Another tenant of the same server, without web push. */
export const NEIGHBOUR = {
  id: '0d1f8b7e-6a52-4c1e-9b5f-3f0c6a7d2e41',
  secretKey: 'F00DFACEF00DFACEF00DFACEF00DFACEF00DFACEF00DFACEF00DFACEF00DFACE',
} as const;

/** An id that no instance, device or publish has. */
export const UNKNOWN = '00000000-0000-4000-8000-000000000000';

const vapidPair = newP256Pair();
export const VAPID_PUBLIC_KEY = vapidPair.publicText;
const web = {
  vapid: {
    publicKey: vapidPair.publicText,
    privateKey: vapidPair.privateText,
    subject: 'mailto:ops@example.org',
  },
};

interface PushOptions {
  /** Over the settings of `INSTANCE`. */
  readonly instance?: object;
  /** Over the settings of `NEIGHBOUR`. */
  readonly neighbour?: object;
  /** Over `push`. */
  readonly push?: object;
  /** Over the whole configuration. */
  readonly config?: object;
}

/** The `push` of a configuration with both instances, without a rate of publishes. */
export function pushSettings({ instance, neighbour, push }: PushOptions = {}): object {
  const limits = { publishesPerSecond: 0 };
  return {
    host: '127.0.0.1',
    port: 0,
    instances: [
      {
        id: INSTANCE.id,
        secretKeys: [INSTANCE.secretKey, INSTANCE.nextKey],
        limits,
        web,
        ...instance,
      },
      { id: NEIGHBOUR.id, secretKeys: [NEIGHBOUR.secretKey], limits, ...neighbour },
    ],
    ...push,
  };
}

export function startPush(options: PushOptions = {}): Promise<Fanfare> {
  return startFanfare({ config: { push: pushSettings(options), ...options.config } });
}

/** Returns a running server another configuration, as an operator does. Settles when it is served. */
export async function reconfigure(server: Fanfare, options: PushOptions): Promise<void> {
  const config = configOf(server.directory, { config: { push: pushSettings(options) } });
  writeFileSync(join(server.directory, 'config.json'), JSON.stringify(config));
  const changed = server.logsNext(/Instances changed/);
  server.process.kill('SIGHUP');
  await changed;
}

/** An answer as its client sees it. */
export interface Answered {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  /** `undefined` if the answer is not JSON. */
  readonly json: unknown;
}

/** A request without its path. */
interface Asked extends Partial<Omit<RawRequest, 'body' | 'method' | 'target'>> {
  /** Text and bytes are sent unchanged, anything else as JSON. */
  readonly body?: unknown;
  /** The address of this machine that it comes from, such as 127.0.0.2. */
  readonly from?: string;
}

type At = Pick<Fanfare, 'pushPort'>;

/** An instance of a server. */
export interface Instance extends At {
  readonly id: string;
  readonly secretKey: string;
}

/** Where a test finds its instance: a server stands for `INSTANCE`. */
type InstanceLocation = At & Partial<Instance>;

/** The instance of a place. */
export const instanceAt = (location: InstanceLocation): Instance => ({ ...INSTANCE, ...location });

/** Creates an instance that a test has for itself, without a rate of publishes. */
export async function newInstance(
  server: AdminServer & At,
  { limits, ...settings }: { readonly limits?: object } & Readonly<Record<string, unknown>> = {},
): Promise<Instance> {
  const body = { limits: { publishesPerSecond: 0, ...limits }, ...settings };
  const { json, status, text } = await admin(server, 'POST', '/instances', { body });
  expect([status, text]).toEqual([201, expect.any(String)]);
  const { id, secretKeys } = json as { id: string; secretKeys: [string] };
  await everyServerTakes(server, `/instances/${id}`);
  return { pushPort: server.pushPort, id, secretKey: secretKeys[0] };
}

export function open(server: At, from?: string): Promise<RawHttp> {
  return RawHttp.open({ port: server.pushPort }, from === undefined ? {} : { from });
}

/** Sends a request on a connection of its own. Fails if a refusal does not have the shape of every refusal. */
export async function ask(
  server: At,
  method: string,
  target: string,
  { body, from, ...others }: Asked = {},
): Promise<Answered> {
  await using connection = await open(server, from);
  const bytes = bytesOf(body);
  return seen(
    await connection.request({
      method,
      target,
      ...others,
      ...(bytes === undefined ? {} : { body: bytes }),
    }),
    method,
  );
}

function bytesOf(body: unknown): string | Uint8Array | undefined {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) return body;
  return JSON.stringify(body);
}

/** Reads an answer, and checks what every answer must have. */
export function seen({ status, headers, body }: RawAnswer, method = 'GET'): Answered {
  const isJson = headers.get('content-type') === 'application/json';
  const json: unknown = isJson && body !== '' ? JSON.parse(body) : undefined;
  if (status >= 400 && method !== 'HEAD') expectErrorBody(headers, body, json);
  return { status, headers, text: body, json };
}

/** Push protocol, §1.3 and §1.4. */
function expectErrorBody(headers: Answered['headers'], body: string, json: unknown): void {
  expect(headers.get('content-type')).toBe('application/json');
  expect(headers.get('content-length')).toBe(String(Buffer.byteLength(body)));
  expect(body).toEndWith('}\n');
  const nonEmpty = expect.stringMatching(/./);
  expect(json).toEqual({ error: nonEmpty, description: nonEmpty });
}

/** An expected refusal. `description` is all of it, or a pattern. */
export function refusal(status: number, error: string, description: string | RegExp = /./) {
  const said = typeof description === 'string' ? description : expect.stringMatching(description);
  return { status, json: { error, description: said } };
}

export const NO_INSTANCE = refusal(404, 'Instance not found', 'Could not find the instance');
export const NO_DEVICE = refusal(404, 'Device not found');
export const NO_PATH = refusal(404, 'Not found');

/** The expected refusal of a field of a publish. Source: push protocol, §2.2. */
export function fieldRefusal(field: string, status = 422, error = 'Unprocessable Entity') {
  return refusal(status, error, new RegExp(`^\`${field.replaceAll('.', '\\.')}\`: .`));
}

/** 200 without a body. */
export async function expectEmpty(answer: Answered | Promise<Answered>): Promise<void> {
  const { status, headers, text } = await answer;
  expect([status, text, headers.get('content-length')]).toEqual([200, '', '0']);
}

export const JSON_HEADERS = { 'content-type': 'application/json' };
export const BACKEND = { authorization: `Bearer ${INSTANCE.secretKey}` };
export const BACKEND_JSON = { ...JSON_HEADERS, ...BACKEND };

/** The id of a publish: a UUID of version 4. */
export const PUBLISH_ID =
  /^pubid-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export const publishes = (rest = '', id: string = INSTANCE.id) =>
  `/publish_api/v1/instances/${id}/publishes${rest}`;
export const user = (rest: string, id: string = INSTANCE.id) =>
  `/customer_api/v1/instances/${id}/users/${rest}`;
export const device = (rest: string, id: string = INSTANCE.id) =>
  `/device_api/v1/instances/${id}/devices/${rest}`;
export const events = (id: string = INSTANCE.id) => `/reporting_api/v2/instances/${id}/events`;

export const TO_INTERESTS = { interests: ['shop'], fcm: { notification: { title: 'Hi' } } };
export const TO_USERS = { users: ['ann'], fcm: { notification: { title: 'Hi' } } };

/** Publishes to interests or to users, by the path. */
export function publish(
  at: InstanceLocation,
  kind: '' | '/interests' | '/users',
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answered> {
  const { id, secretKey } = instanceAt(at);
  const all = { ...JSON_HEADERS, authorization: `Bearer ${secretKey}`, ...headers };
  return ask(at, 'POST', publishes(kind, id), { headers: all, body });
}

/** Sends a publish that must be accepted; returns its id. */
export async function published(
  at: InstanceLocation,
  body: object = TO_INTERESTS,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const kind = 'users' in body ? '/users' : '/interests';
  const { status, text, json } = await publish(at, kind, body, headers);
  expect([status, text]).toEqual([200, expect.any(String)]);
  return (json as { publishId: string }).publishId;
}

/** The status of a publish, which the server must know. */
export async function statusOf(at: InstanceLocation, publishId: string): Promise<PublishStatus> {
  const { id, secretKey } = instanceAt(at);
  const headers = { authorization: `Bearer ${secretKey}` };
  const { status, json } = await ask(at, 'GET', publishes(`/${publishId}`, id), { headers });
  expect(status).toBe(200);
  return json as PublishStatus;
}

interface PublishStatus {
  readonly state: string;
  readonly sendAt: string | null;
  readonly platforms: Readonly<Record<string, { readonly planned: number }>>;
}

/** Waits until a publish has this many planned devices: their reports count from then on. */
export async function planned(
  at: InstanceLocation,
  publishId: string,
  devices: number,
): Promise<void> {
  await eventually(
    () => statusOf(at, publishId),
    ({ platforms }) =>
      Object.values(platforms).reduce((sum, counts) => sum + counts.planned, 0) >= devices,
  );
}

/** The subscription of a browser with this endpoint. */
export function subscription(endpoint: unknown, keys: object = {}): object {
  return {
    endpoint,
    expirationTime: null,
    keys: { p256dh: newP256Pair().publicText, auth: 'BTBZMqHH6r4Tts7J_aSIgg', ...keys },
  };
}

/** An endpoint that no other device has. */
export function anyEndpoint(): string {
  return `https://updates.push.services.mozilla.com/wpush/v2/${randomUUID()}`;
}

/** The registration that the SDK of a platform sends: a new device each time. */
export function registration(platform: Platform, change: object = {}): object {
  switch (platform) {
    case 'apns': {
      const token = randomUUID().replaceAll('-', '').repeat(2);
      const metadata = { sdkVersion: '4.0.0', iosVersion: '19.1' };
      return { token, bundleIdentifier: 'com.example.shop', metadata, ...change };
    }
    case 'fcm': {
      const metadata = { sdkVersion: '1.10.0', androidVersion: '16' };
      const token = `d-x:${randomUUID()}`;
      return { token, knownPreviousClientIds: [], metadata, ...change };
    }
    case 'web': {
      const token = btoa(JSON.stringify(subscription(anyEndpoint())));
      return { token, metadata: { sdkVersion: '2.1.0' }, ...change };
    }
    default:
      return platform satisfies never;
  }
}

/** Sends a registration that must be accepted; returns the id of the device. */
export async function registered(
  at: InstanceLocation,
  platform: Platform = 'fcm',
  change: object = {},
  instance: string = instanceAt(at).id,
): Promise<string> {
  const body = registration(platform, change);
  const { status, text, json } = await ask(at, 'POST', device(platform, instance), { body });
  expect([status, text]).toEqual([200, expect.any(String)]);
  return (json as { id: string }).id;
}

/** Registers a device of a user; returns its id. */
export async function registeredOf(at: InstanceLocation, sub: string): Promise<string> {
  const { id: instance, secretKey } = instanceAt(at);
  const id = await registered(at);
  await expectEmpty(setUser(at, id, beamsToken({ sub, iss: issuerOf(instance) }, secretKey)));
  return id;
}

export function setUser(at: InstanceLocation, id: string, token: string): Promise<Answered> {
  const [platform] = id.split('-', 1);
  const headers = { authorization: `Bearer ${token}` };
  return ask(at, 'PUT', device(`${platform}/${id}/user`, instanceAt(at).id), { headers });
}

/** The device as the server shows it; `undefined` if there is none. */
export async function shownDevice(
  at: InstanceLocation,
  id: string,
  instance: string = instanceAt(at).id,
): Promise<{ userId: unknown; metadata: unknown } | undefined> {
  const [platform] = id.split('-', 1);
  const answer = await ask(at, 'GET', device(`${platform}/${id}`, instance));
  if (answer.status === 200) return answer.json as { userId: unknown; metadata: unknown };
  expect(answer).toMatchObject(NO_DEVICE);
  return undefined;
}

export const nowSeconds = () => Math.floor(Date.now() / 1000);

/** The issuer of Beams Tokens on the hosted service. */
export const issuerOf = (instance: string) => `https://${instance}.pushnotifications.pusher.com`;

/** A Beams Token; claims that are `undefined` are left out. */
export function beamsToken(
  claims: object = {},
  secret: string | Uint8Array = INSTANCE.secretKey,
  header: object = {},
): string {
  const all = {
    sub: 'ann',
    exp: nowSeconds() + 3600,
    iss: issuerOf(INSTANCE.id),
    ...claims,
  };
  const parts = [{ alg: 'HS256', typ: 'JWT', ...header }, all].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signed = parts.join('.');
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

/** The ASCII characters that no interest may have. */
export const notOfInterests: readonly string[] = Array.from({ length: 128 }, (_, code) =>
  String.fromCharCode(code),
).filter((character) => !/[A-Za-z0-9_\-=@,.;]/.test(character));

/** The characters that interests may have. Source: push protocol, §2.2. */
export const ofInterests: readonly string[] = [
  ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-=@,.;',
];
