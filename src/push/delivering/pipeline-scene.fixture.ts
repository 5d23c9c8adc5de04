import { expect } from 'bun:test';
import { FakeTime } from '../../../testing/fake-time.ts';
import { MemoryBacklog } from '../../../testing/memory-stores/backlog.ts';
import { MemoryDeliveries } from '../../../testing/memory-stores/deliveries.ts';
import { MemoryAudience, MemoryDevices } from '../../../testing/memory-stores/devices.ts';
import { MemoryPublishes } from '../../../testing/memory-stores/publishes.ts';
import type { Gateway, Outcome } from '../gateway.ts';
import { type DeviceId, type Platform, platforms } from '../model/device.ts';
import type {
  NewPublish,
  PlatformCounts,
  PublishId,
  PublishStatus,
  PublishTarget,
} from '../model/publish.ts';
import type { Manners } from './due-times.ts';
import { deliveryLimits } from './limits.ts';
import { Pipeline } from './pipeline.ts';
import type { DeliveredInstance, OpenCircuit, PipelinePorts } from './ports.ts';

/** One attempt to reach a device. */
export interface SceneSend {
  readonly atMs: number;
  readonly platform: Platform;
  readonly instance: number;
  readonly publish: PublishId;
  readonly device: string;
  readonly token: string;
  /** As the gateway sees it. */
  readonly isTrusted: boolean;
}

/** What a gateway answers, and after which time. */
export interface Answer {
  readonly outcome: Outcome;
  /** `undefined`: never. */
  readonly afterMs: number | undefined;
}

export const accepted: Outcome = { result: 'accepted' };

export function tryAgain(scope: 'device' | 'gateway', afterMs?: number): Outcome {
  return { result: 'try-again', reason: 'trouble', afterMs, scope };
}

/** Platforms that an instance has a gateway for. */
const all: readonly Platform[] = platforms;

/** A pipeline with devices and gateways that behave as a test says. */
export class PipelineScene {
  readonly time = new FakeTime();
  readonly devices = new MemoryDevices();
  readonly publishes = new MemoryPublishes(this.devices);
  readonly sends: SceneSend[] = [];
  readonly log: string[] = [];
  readonly openCircuits: OpenCircuit[] = [];
  /** Sends in flight now, and the most so far, by instance and platform. */
  readonly inFlight = new Map<string, number>();
  readonly inFlightMax = new Map<string, number>();
  atOnce = 1_000;
  /** Push services that the operator has not named. */
  readonly openOrigins = new Set<string>();
  limits = deliveryLimits;
  retryMs = 72 * 3_600_000;
  manners: Manners = {};
  /** The limit of bytes that wait, for each instance; 0: no limit. */
  pendingBytesMax = 0;
  /** What gateways answer, and whether the store fails. */
  answer: (send: SceneSend) => Answer | Outcome = () => accepted;
  isStoreAway = false;
  readonly startedAtMs = this.time.now();
  private readonly instances = new Map<number, DeliveredInstance>();
  private named = 0;
  /** How often all servers have crashed. Earlier ones get no answers. */
  private deaths = 0;

  /** Milliseconds since the scene began. */
  get passedMs(): number {
    return this.time.now() - this.startedAtMs;
  }

  newInstance(given: readonly Platform[] = all): number {
    const instance = this.devices.newInstance();
    this.useGateways(instance, given);
    return instance;
  }

  /** Gives an instance new gateways, as when an operator has changed a credential. */
  useGateways(instance: number, given: readonly Platform[] = all): void {
    const has = (platform: Platform) => given.includes(platform);
    this.instances.set(instance, {
      id: `instance-${instance}`,
      retryMs: this.retryMs,
      manners: this.manners,
      pendingBytesMax: this.pendingBytesMax,
      gateways: {
        apns: has('apns') ? this.gateway(instance, 'apns') : undefined,
        fcm: has('fcm') ? this.gateway(instance, 'fcm') : undefined,
        web: has('web') ? this.gateway(instance, 'web') : undefined,
      },
    });
  }

  loseInstance(instance: number): void {
    this.instances.delete(instance);
  }

  async register(
    instance: number,
    platform: Platform,
    more: {
      readonly interests?: readonly string[];
      readonly origin?: string;
      /** Whether no gateway has accepted a notification for it yet. */
      readonly isNew?: boolean;
    } = {},
  ): Promise<DeviceId> {
    this.named += 1;
    const id = `${platform}-${this.named}` as DeviceId;
    const origin = more.origin ?? 'https://push.example';
    const token =
      platform === 'web'
        ? JSON.stringify({ endpoint: `${origin}/${this.named}`, keys: {} })
        : `token-${this.named}`;
    await this.devices.register({
      instance,
      device: {
        id,
        platform,
        token,
        identity: token,
        bundleId: undefined,
        metadata: {},
        client: '',
      },
      nowMs: this.time.now(),
    });
    await this.devices.setInterests({ instance, id, interests: more.interests ?? ['hello'] });
    if (more.isNew !== true) this.devices.acceptById(id, token, this.time.now());
    return id;
  }

  async registerMany(
    instance: number,
    platform: Platform,
    count: number,
    more: Parameters<PipelineScene['register']>[2] = {},
  ): Promise<readonly DeviceId[]> {
    const ids: DeviceId[] = [];
    for (let index = 0; index < count; index++) {
      ids.push(await this.register(instance, platform, more));
    }
    return ids;
  }

  async publish(
    instance: number,
    payloads: object = { apns: { aps: {} }, fcm: {}, web: {} },
    target: PublishTarget = { kind: 'interests', names: ['hello'] },
    sendAtMs?: number,
  ): Promise<PublishId> {
    this.named += 1;
    const publish: NewPublish = {
      id: `pubid-${this.named}` as PublishId,
      instance,
      createdAtMs: this.time.now(),
      sendAtMs,
      target,
      platforms: platforms.filter((platform) => Object.hasOwn(payloads, platform)),
      webhookUrl: undefined,
      body: JSON.stringify({ [target.kind]: target.names, ...payloads }),
      idempotency: undefined,
      devicesMax: 0,
      pendingBytesMax: this.pendingBytesMax,
    };
    await this.publishes.accept(publish);
    return publish.id;
  }

  /** Registers trusted devices of one platform with a new instance, and publishes to them. */
  async publishTo(
    count: number,
    platform: Platform = 'fcm',
    payloads?: object,
  ): Promise<{ readonly instance: number; readonly id: PublishId }> {
    const instance = this.newInstance();
    await this.registerMany(instance, platform, count);
    return { instance, id: await this.publish(instance, payloads) };
  }

  /** Expects that a publish is finished, and that all of its devices were accepted. */
  async expectAccepted(id: PublishId, planned: number, platform: Platform = 'fcm'): Promise<void> {
    const counts = await this.counts(id, platform);
    expect(counts).toEqual({ state: 'finished', planned, accepted: planned });
  }

  /** The store, as another server uses it. */
  deliveries(): MemoryDeliveries {
    return new MemoryDeliveries(this.publishes, this.devices);
  }

  /** All servers crash. */
  kill(): void {
    this.deaths += 1;
  }

  /** Starts a server; a second one is another server on the same store. */
  start(more: Partial<PipelinePorts> = {}): Pipeline {
    const { deaths, time } = this;
    return new Pipeline({
      store: this.asked(this.deliveries()),
      backlog: this.asked(new MemoryBacklog(this.publishes, this.devices)),
      audience: this.asked(new MemoryAudience(this.devices)),
      instances: { byNumber: (instance) => this.instances.get(instance) },
      timers: {
        now: () => time.now(),
        after: (ms, run) => time.after(ms, () => deaths === this.deaths && run()),
      },
      random: () => 0,
      events: {
        started: ({ id }) => this.log.push(`started ${id}`),
        finished: ({ id }) => this.log.push(`finished ${id}`),
      },
      notices: {
        storeFailed: (error) => this.log.push(`store failed: ${String(error)}`),
        circuitOpened: (circuit) => {
          this.openCircuits.push(circuit);
          this.log.push(`opened ${circuit.platform} for ${circuit.why}: ${circuit.reason}`);
        },
        gaveWay: ({ publishes, devices }) =>
          this.log.push(`gave way ${publishes}: ${JSON.stringify(devices)}`),
        circuitClosed: ({ platform }) => this.log.push(`closed ${platform}`),
        refused: ({ id }, platform, reason) => this.log.push(`refused ${id} ${platform} ${reason}`),
        fault: (error) => this.log.push(`fault: ${String(error)}`),
      },
      isAlone: false,
      limits: this.limits,
      ...more,
    });
  }

  /** How often each device was sent to. */
  timesSent(): Readonly<Record<string, number>> {
    const byDevice = Map.groupBy(this.sends, ({ device }) => device);
    return Object.fromEntries([...byDevice].map(([device, sends]) => [device, sends.length]));
  }

  /** The state of a publish, and its counts that are not 0. */
  async counts(id: PublishId, platform: Platform = 'fcm'): Promise<Record<string, unknown>> {
    const instance = this.publishes.all().find(({ publish }) => publish.id === id)
      ?.publish.instance;
    const of = { instance: instance ?? 0, id, nowMs: this.time.now() };
    const status = await this.publishes.status(of);
    const counts = Object.entries<number>({ ...(status?.platforms[platform] as PlatformCounts) });
    return { state: status?.state, ...Object.fromEntries(counts.filter(([, count]) => count > 0)) };
  }

  /** Why devices will not get a publish. */
  async reasons(id: PublishId): Promise<PublishStatus['reasons'] | undefined> {
    const kept = this.publishes.all().find(({ publish }) => publish.id === id);
    const of = { instance: kept?.publish.instance ?? 0, id, nowMs: this.time.now() };
    return (await this.publishes.status(of))?.reasons;
  }

  /** The number of stored retries. */
  rowsWaiting(): number {
    return this.publishes
      .all()
      .flatMap(({ pages }) => pages.flatMap(({ fates }) => [...fates.values()]))
      .filter(({ state }) => state === 'retrying').length;
  }

  private gateway<P extends Platform>(instance: number, platform: P): Gateway<P> {
    const name = `${instance} ${platform}`;
    return {
      platform,
      atOnce: this.atOnce,
      isOpen: (origin) => this.openOrigins.has(origin),
      prepare: ({ publishId }) => {
        return async ({ id, token, isTrusted }) => {
          const send = {
            atMs: this.passedMs,
            platform,
            instance,
            publish: publishId,
            device: id,
            token,
            isTrusted,
          };
          const { deaths } = this;
          this.sends.push(send);
          this.countInFlight(name, 1);
          const answer = this.answer(send);
          const { outcome, afterMs } =
            'result' in answer ? { outcome: answer, afterMs: 0 } : answer;
          if (afterMs === undefined) await new Promise(() => undefined);
          else if (afterMs > 0) {
            await new Promise<void>((resolve) => this.time.after(afterMs, resolve));
          }
          this.countInFlight(name, -1);
          if (deaths !== this.deaths) await new Promise(() => undefined);
          return outcome;
        };
      },
      [Symbol.asyncDispose]: async () => undefined,
    };
  }

  private countInFlight(name: string, change: number): void {
    const inFlight = (this.inFlight.get(name) ?? 0) + change;
    this.inFlight.set(name, inFlight);
    this.inFlightMax.set(name, Math.max(inFlight, this.inFlightMax.get(name) ?? 0));
  }

  private asked<Store extends object>(store: Store): Store {
    const { deaths } = this;
    return new Proxy(store, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return async (...args: unknown[]) => {
          if (deaths !== this.deaths) await new Promise(() => undefined);
          if (this.isStoreAway) throw new Error('the store is away');
          return await Reflect.apply(method, target, args);
        };
      },
    });
  }
}
