import { createHmac } from 'node:crypto';
import { MemoryChannels } from '../../../../testing/memory-stores/channels.ts';
import { MemoryDevices, MemoryPreferences } from '../../../../testing/memory-stores/devices.ts';
import { NO_LIMITS } from '../../../../testing/push-limits.ts';
import type { BroadcastChannels } from '../../../push/broadcast-channels.ts';
import type { OpenCircuit } from '../../../push/delivering/ports.ts';
import type { DeviceMoves } from '../../../push/device-moves.ts';
import type { DeviceStory } from '../../../push/model/delivery.ts';
import type { Platform } from '../../../push/model/device.ts';
import type { PushInstance } from '../../../push/model/instance.ts';
import {
  type NewPublish,
  NO_COUNTS,
  type PlatformCounts,
  type PublishStatus,
  type Report,
} from '../../../push/model/publish.ts';
import type { PublishAt, PublishStore } from '../../../push/publish-store.ts';
import { PushRefusal } from '../../../push/refusal.ts';
import type { StoryKey } from '../../../push/story-store.ts';
import { InstanceTaps } from '../../../push/watching/push-tap.ts';
import type { UserReport } from '../../../push/webhooks/beams-webhook.ts';
import { LogThrottle } from '../../../runtime/logging/log-throttle.ts';
import { RateLimitedLog } from '../../../runtime/logging/rate-limited-log.ts';
import { requestTarget } from '../../request-target.ts';
import type { PushAnswer, PushCall } from '../call.ts';
import { statuses } from '../problems.ts';
import { findRoute } from '../routes.ts';
import type { PushEndpointSettings } from './context.ts';
import { type DeviceAddressLimits, DeviceRates } from './device/device-rates.ts';
import { createPushEndpoints } from './endpoints.ts';

export const SECRET = 'A'.repeat(64);
export const INSTANCE: PushInstance = {
  id: '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c',
  // The first number of the devices in memory.
  number: 1,
  name: 'test',
  secretKeys: [SECRET, 'the next one'],
  limits: NO_LIMITS,
  whenUserIsFull: 'refuse',
  webhooks: [],
  web: {
    vapidPublicKey:
      'BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8',
    allowedHosts: ['push.example.net'],
    declarative: false,
    allowPrivateAddresses: false,
  },
};
export const UNKNOWN = '00000000-0000-4000-8000-000000000000';
export const NOW_MS = 1_800_000_000_000;

/** The address of all requests. */
const CLIENT = '192.0.2.1';

export const JSON_HEADERS = { 'content-type': 'application/json' };
export const BACKEND = { authorization: `Bearer ${SECRET}` };
export const BACKEND_JSON = { ...JSON_HEADERS, ...BACKEND };

/** A browser's subscription, as the web SDK sends it. */
const WEB_TOKEN = btoa(
  JSON.stringify({
    endpoint: 'https://push.example.net/wpush/1',
    expirationTime: null,
    keys: {
      p256dh:
        'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
      auth: 'BTBZMqHH6r4Tts7J_aSIgg',
    },
  }),
);

/** What the three SDKs register with. */
export const registrations = {
  apns: {
    token: 'ab'.repeat(32),
    bundleIdentifier: 'com.example.shop',
    metadata: { sdkVersion: '4.0.0', iosVersion: '19.1' },
  },
  fcm: {
    token: 'fcm:token',
    knownPreviousClientIds: [],
    metadata: { sdkVersion: '1.10.0', androidVersion: '16' },
  },
  web: { token: WEB_TOKEN, metadata: { sdkVersion: '2.1.0' } },
} as const;

/** A Beams Token. Claims that are `undefined` are left out. */
export function beamsToken(claims: object = {}, secret = SECRET, header: object = {}): string {
  const all = {
    sub: 'ann',
    exp: NOW_MS / 1000 + 60,
    iss: `https://${INSTANCE.id}.pushnotifications.pusher.com`,
    ...claims,
  };
  const parts = [{ alg: 'HS256', typ: 'JWT', ...header }, all].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signed = parts.join('.');
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

export interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON unless it is text or bytes. */
  readonly body?: unknown;
  /** The address of the client. */
  readonly from?: string;
}

/** An answer as its client sees it. */
export interface Heard {
  readonly status: number;
  readonly error?: string;
  readonly description?: string;
  readonly retryAfter?: number | undefined;
  readonly json?: unknown;
  readonly text?: string;
}

/** The API without its listener, over stores in memory that fail on demand. */
/** No device ever moves. Moves are tried with real stores. */
const noMoves: DeviceMoves = {
  importRows: async ({ rows }) => rows.map(() => ({ status: 'refused', why: 'instance-full' })),
  exportRows: async () => ({ devices: [], next: undefined }),
  countImport: async () => ({ devices: 0, accepted: 0, platforms: { apns: 0, fcm: 0, web: 0 } }),
  undoImport: async () => ({ removed: 0, more: false }),
};

export class PushApi {
  nowMs = NOW_MS;
  /** `undefined`: the instance was deleted. */
  instance: PushInstance | undefined = INSTANCE;
  settings: PushEndpointSettings & { readonly addressLimits: DeviceAddressLimits } = {
    tokenLeewaySeconds: 60,
    tokenIssuers: [],
    publicUrl: null,
    pathPrefix: '',
    tls: false,
    addressLimits: { requestsPerSecond: 0, rowsPerSecond: 0, reportsPerSecond: 0 },
  };
  storeFault: string | undefined;
  /** If set, every query of a store rejects with it. */
  storeThrows: Error | undefined;
  /** The queries of the stores: the method and its arguments. */
  readonly asked: (readonly [method: string, ...given: readonly unknown[]])[] = [];
  readonly failures: unknown[] = [];
  worked = 0;
  readonly logged: object[] = [];
  readonly devices = new MemoryDevices();
  /** Creates channels at Apple; `undefined`: the instance has no key for it. */
  apple: BroadcastChannels | undefined;
  readonly publishes: NewPublish[] = [];
  /** For how many publishes there is room. */
  room = Number.POSITIVE_INFINITY;
  /** What makes room, and for how many bytes it was asked; 0: a publish has found some. */
  makeRoom: () => Promise<boolean> = async () => false;
  readonly roomAsked: number[] = [];
  readonly cancelled = new Set<string>();
  /** The counts of publishes by their ids. */
  readonly counts = new Map<string, Partial<Record<Platform, PlatformCounts>>>();
  readonly reports: Report[] = [];
  /** The reports that were sent to webhooks. */
  readonly webhookReports: (UserReport & { readonly instanceId: string })[] = [];
  /** By `publish-id device-id`. */
  readonly stories = new Map<string, DeviceStory>();
  pauses: readonly OpenCircuit[] = [];
  readonly taps = new InstanceTaps();
  private readonly endpoints;
  private readonly rates: DeviceRates;

  constructor() {
    this.devices.newInstance();
    const now = () => this.nowMs;
    const logThrottle = new LogThrottle({ now });
    const log = {
      info: (message: string, fields?: object) => this.logged.push({ message, ...fields }),
      warn: (message: string, fields?: object) => this.logged.push({ message, ...fields }),
      error: (message: string, fields?: object) => this.logged.push({ message, ...fields }),
    };
    const limits = () => this.settings.addressLimits;
    this.rates = new DeviceRates({ limits, now, log, logThrottle });
    this.endpoints = createPushEndpoints({
      instances: {
        byId: (id) => (id.toLowerCase() === this.instance?.id ? this.instance : undefined),
      },
      devices: this.listened(this.devices),
      channels: { stored: this.listened(new MemoryChannels(this.devices)), at: () => this.apple },
      preferences: this.listened(new MemoryPreferences(this.devices)),
      moves: this.listened(noMoves),
      publishes: this.listened(this.publishStore()),
      stories: this.listened({
        story: async ({ instance, publish, device }: StoryKey) =>
          instance === INSTANCE.number ? this.stories.get(`${publish} ${device}`) : undefined,
      }),
      pauses: () => this.pauses,
      webhooks: {
        reported: (instanceId, { event, publishId, deviceId, userId }) =>
          this.webhookReports.push({ instanceId, event, publishId, deviceId, userId }),
      },
      makeRoom: (_, neededBytes) => {
        this.roomAsked.push(neededBytes);
        return this.makeRoom();
      },
      taps: this.taps,
      storeFault: () => this.storeFault,
      storeFailed: (error) => this.failures.push(error),
      storeWorked: () => this.worked++,
      now,
      log,
      rateLimitedLog: new RateLimitedLog(log, { now }),
      logThrottle,
      rates: this.rates,
      settings: () => this.settings,
    }).endpoints;
  }

  /** Sends a request as a client does. */
  async ask(
    method: string,
    path: string,
    { headers = {}, body, from = CLIENT }: Asked = {},
  ): Promise<Heard> {
    const target = requestTarget(path);
    const found = findRoute(method, target.path);
    switch (found.found) {
      case 'nothing':
        return heard(new PushRefusal('not-found', 'There is no such path'));
      case 'path':
        return heard(new PushRefusal('wrong-method', `This path takes ${found.allow}`));
      case 'no-instance':
        return heard(new PushRefusal('incomplete', 'The path has no instance id'));
      case 'endpoint': {
        const call: PushCall = {
          method,
          path: target.path,
          params: found.params,
          query: new URLSearchParams(target.query),
          address: from,
          addressKey: from,
          header: (name) => headers[name],
          body: bytesOf(body),
        };
        const endpoint = this.endpoints[found.endpoint];
        const checked = endpoint.checkHead?.(call);
        const isBackend = checked !== undefined && !(checked instanceof PushRefusal);
        // As the listener does.
        const tooMany = isBackend ? undefined : this.rates.refuseAddress('requests', call);
        if (tooMany !== undefined) return heard(tooMany);
        if (checked instanceof PushRefusal) return heard(checked);
        const refused = call.body.length > 0 ? await endpoint.checkBeforeBody?.(call) : undefined;
        return heard(refused ?? (await endpoint.answer(call)));
      }
      default:
        return found satisfies never;
    }
  }

  /** Registers a device as an SDK does. Returns its id. */
  async register(
    platform: keyof typeof registrations = 'web',
    change: object = {},
  ): Promise<string> {
    const body = { ...registrations[platform], ...change };
    const { json } = await this.ask('POST', device(platform), { body });
    return String((json as { id: string }).id);
  }

  /** All devices. */
  kept(): ReturnType<MemoryDevices['of']> {
    return this.devices.of(INSTANCE.number);
  }

  /** Records the queries of a store, and makes them fail on demand. */
  private listened<Store extends object>(store: Store): Store {
    return new Proxy(store, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return async (...given: readonly unknown[]) => {
          this.asked.push([String(name), ...given]);
          if (this.storeThrows !== undefined) throw this.storeThrows;
          return await Reflect.apply(method, target, given);
        };
      },
    });
  }

  private publishStore(): PublishStore {
    const status = ({ instance, id }: PublishAt): PublishStatus | undefined => {
      const publish = this.publishes.find(
        (candidate) => candidate.instance === instance && candidate.id === id,
      );
      return (
        publish && {
          id: publish.id,
          state: this.cancelled.has(id) ? 'cancelled' : 'planning',
          createdAtMs: publish.createdAtMs,
          sendAtMs: publish.sendAtMs,
          platforms: { apns: NO_COUNTS, fcm: NO_COUNTS, web: NO_COUNTS, ...this.counts.get(id) },
          delivered: 0,
          opened: 0,
          reasons: [],
        }
      );
    };
    return {
      accept: async (publish) => {
        const { devicesMax, idempotency } = publish;
        const devices = this.devices.counts(INSTANCE.number).accepted;
        if (devicesMax > 0 && devices > devicesMax) return { result: 'over-plan', devices };
        const first = this.publishes.find(
          (earlier) => idempotency && earlier.idempotency?.key === idempotency.key,
        );
        if (first === undefined) {
          if (this.publishes.length >= this.room) return { result: 'too-much-pending' };
          this.publishes.push(publish);
          const isScarce = this.publishes.length >= this.room * 0.8;
          return { result: 'accepted', id: publish.id, ...(isScarce && { isRoomScarce: true }) };
        }
        return first.idempotency?.fingerprint === idempotency?.fingerprint
          ? { result: 'accepted', id: first.id }
          : { result: 'key-taken' };
      },
      status: async (of) => status(of),
      cancel: async (publish) => {
        const isCancelledNow = !this.cancelled.has(publish.id);
        this.cancelled.add(publish.id);
        const found = status(publish);
        return found && isCancelledNow ? { ...found, isCancelledNow } : found;
      },
      report: async ({ report }) => {
        this.reports.push(report);
        const device = this.kept().find(({ registered }) => registered.id === report.deviceId);
        return { userId: device?.userId };
      },
    };
  }
}

/** Paths of the instance. */
export const publishes = (rest = '', id = INSTANCE.id) =>
  `/publish_api/v1/instances/${id}/publishes${rest}`;
export const user = (rest: string, id = INSTANCE.id) =>
  `/customer_api/v1/instances/${id}/users/${rest}`;
export const device = (rest: string, id = INSTANCE.id) =>
  `/device_api/v1/instances/${id}/devices/${rest}`;
export const events = (id: string = INSTANCE.id) => `/reporting_api/v2/instances/${id}/events`;

function bytesOf(body: unknown): Uint8Array {
  if (body === undefined) return new Uint8Array(0);
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function heard(answer: PushAnswer): Heard {
  if (answer instanceof PushRefusal) {
    const { status, title } = statuses[answer.problem];
    return {
      status,
      error: title,
      description: answer.description,
      ...(answer.retryAfterSeconds === undefined ? {} : { retryAfter: answer.retryAfterSeconds }),
    };
  }
  if ('json' in answer) return { status: 200, json: JSON.parse(answer.json) };
  return 'text' in answer ? { status: 200, text: answer.text } : { status: 200 };
}
