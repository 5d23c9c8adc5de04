import { CHECK_MS, type DeliveryLimits, deliveryLimits } from '../../src/push/delivering/limits.ts';
import { Pipeline } from '../../src/push/delivering/pipeline.ts';
import type { DeliveredInstance } from '../../src/push/delivering/ports.ts';
import { type DeviceId, type Platform, platforms } from '../../src/push/model/device.ts';
import { FakeTime } from '../../testing/fake-time.ts';
import { MemoryBacklog } from '../../testing/memory-stores/backlog.ts';
import { MemoryDeliveries } from '../../testing/memory-stores/deliveries.ts';
import { MemoryAudience, MemoryDevices } from '../../testing/memory-stores/devices.ts';
import { Random } from '../../testing/random.ts';
import { EVIL, evils, moods, SimulatedGateways, TURNS } from './simulated-gateways.ts';
import { interests, SimulatedPublishes, users } from './simulated-publishes.ts';
import { type StoreTrouble, type TroubleTime, troubled } from './troubled-store.ts';

/** Small limits, so that a few devices reach each of them. */
export const limits: DeliveryLimits = {
  ...deliveryLimits,
  pageDevices: 4,
  plans: 4,
  plansOfInstance: 2,
  plansOfAny: 2,
  platformDevices: 6,
  sharedDevices: 30,
  instanceJobs: 5,
  pagesAhead: 3,
  jobsAtOnce: 3,
  retriesAtOnce: 4,
  untrustedWaitMs: 2_000,
  routes: 2,
  claimMs: 30_000,
  extendMs: 7_000,
  sendMs: 12_000,
  awayMs: 3_000,
  stopMs: 5_000,
  storeStopMs: 1_000,
};

const origins = ['https://one.example', 'https://two.example', 'https://three.example'] as const;

/** How long things go wrong. */
const CHAOS_MS = 40_000;

/**
 * How soon each honest device is reached once everything but the fakes works: the longest pause of a circuit, plus some
 * seconds for the devices in front.
 */
const HONEST_MS = 70_000;

/** How long the rest may take after that: pauses of 15 minutes may have begun. */
const CALM_MS = 60 * 60_000;

/** One life of a server, from its start to its stop or crash. */
interface LifeState {
  readonly number: number;
  /** `'ended'`: it was stopped, and is gone. */
  state: 'alive' | 'stopping' | 'ended' | 'dead';
  /** When it was asked to stop. */
  stoppingAtMs: number | undefined;
  endedAtMs: number | undefined;
  readonly gateways: Map<number, DeliveredInstance>;
}

interface Life extends LifeState {
  readonly pipeline: Pipeline;
}

/** A world of devices, backends, servers and gateways in which a seed decides what happens when. */
export class PushWorld {
  readonly time = new FakeTime();
  readonly devices = new MemoryDevices();
  readonly publishes: SimulatedPublishes;
  readonly lives: Life[] = [];
  readonly storeTroubles: TroubleTime[] = [];
  readonly problems: string[] = [];
  readonly gateways: SimulatedGateways;
  /** Everything in this world. */
  readonly hasCrashes: boolean;
  readonly hasStoreTrouble: boolean;
  readonly hasFakes: boolean;
  private readonly random: Random;
  private readonly instances: number[] = [];
  private readonly trouble: StoreTrouble = { isAway: false, failing: 0, slowMs: 0 };
  private readonly servers: (Life | undefined)[] = [];
  private named = 0;
  private lasted = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.gateways = new SimulatedGateways(this.time, this.random);
    const { time, random, devices } = this;
    this.publishes = new SimulatedPublishes({ time, random, devices });
    this.hasCrashes = this.random.chance(0.6);
    this.hasStoreTrouble = this.random.chance(0.6);
    this.hasFakes = this.random.chance(0.25);
    this.trouble.slowMs = this.random.pick([0, 0, 3, 40]);
  }

  async run(): Promise<void> {
    const { random, time } = this;
    for (let count = random.between(1, 3); count > 0; count--) {
      this.instances.push(this.devices.newInstance());
    }
    for (let count = random.between(5, 30); count > 0; count--) await this.register();
    for (let count = this.hasFakes ? random.between(1, 20) : 0; count > 0; count--) {
      await this.register(undefined, EVIL + random.pick(evils) + random.pick(['', TURNS]));
    }
    const servers = random.between(1, 2);
    for (let place = 0; place < servers; place++) this.startServer(place);

    const endMs = time.now() + CHAOS_MS;
    while (time.now() < endMs) {
      await this.happen();
      await time.advance(random.pick([0, 0, 5, 100, 300, 1_000, 3_000]));
      this.checkBounds();
    }
    await this.calmDown();
    this.lasted = time.now();
  }

  /** The longest time of a call to the store, and again of its answer. */
  get storeSlowMs(): number {
    return this.trouble.slowMs;
  }

  get endedAtMs(): number {
    return this.lasted;
  }

  private async happen(): Promise<void> {
    const { random } = this;
    const roll = random.next();
    if (roll < 0.25) return await this.publish();
    if (roll < 0.35) return await this.changeDevices();
    if (roll < 0.4) return await this.publishes.cancel();
    if (roll < 0.55) return this.changeMood();
    if (roll < 0.6) return this.replaceGateway();
    if (roll < 0.75) return this.changeStore();
    if (roll < 0.9) return this.changeServer();
    this.wakeAll();
  }

  private async publish(): Promise<void> {
    const { random } = this;
    await this.publishes.publish(random.pick(this.instances));
    if (random.chance(0.7)) this.wakeAll();
  }

  private async register(replaced?: string, evil = ''): Promise<void> {
    const { random, time } = this;
    const instance = random.pick(this.instances);
    const platform = random.pick(platforms);
    this.named += 1;
    const id = `${platform}-${this.named}` as DeviceId;
    const identity = replaced ?? `identity-${this.named}`;
    await this.devices.register({
      instance,
      device: {
        id,
        platform,
        identity,
        token: this.token(platform, evil),
        bundleId: undefined,
        metadata: {},
        client: '',
      },
      nowMs: time.now(),
    });
    await this.devices.setInterests({ instance, id, interests: random.some(interests, 0.5) });
    if (random.chance(0.5)) {
      const ofUser = { userId: random.pick(users), max: 100, replaceOldest: false };
      await this.devices.setUser({ instance, id, ...ofUser, nowMs: time.now() });
    }
  }

  private token(platform: Platform, evil = ''): string {
    this.named += 1;
    const name = `${this.named}${evil}`;
    return platform === 'web'
      ? JSON.stringify({ endpoint: `${this.random.pick(origins)}/${name}`, keys: {} })
      : `token-${name}`;
  }

  private async changeDevices(): Promise<void> {
    const { random, time } = this;
    const instance = random.pick(this.instances);
    const devices = this.devices.of(instance);
    if (devices.length === 0 || random.chance(0.3)) return await this.register();
    const { number, registered, token } = random.pick(devices);
    this.publishes.isUncertain(number);
    const what = random.next();
    if (what < 0.3) return await this.devices.delete({ instance, id: registered.id });
    if (what < 0.6) return await this.register(token.identity);
    if (what < 0.8) {
      await this.devices.setInterests({
        instance,
        id: registered.id,
        interests: random.some(interests, 0.5),
      });
      return;
    }
    const renewed = { token: this.token(registered.platform), identity: `renewed-${this.named}` };
    await this.devices.setToken({ instance, id: registered.id, ...renewed, nowMs: time.now() });
  }

  private changeMood(): void {
    const { random } = this;
    const platform = random.pick(platforms);
    const origin = platform === 'web' ? random.pick(origins).slice('https://'.length) : '';
    this.gateways.setMood(random.pick(this.instances), platform, origin, random.pick(moods));
  }

  /** As when an operator has changed a credential. */
  private replaceGateway(): void {
    const instance = this.random.pick(this.instances);
    for (const life of this.lives) {
      if (life.state !== 'alive') continue;
      life.gateways.set(instance, this.instanceOf(instance, life));
      life.pipeline.wake();
    }
  }

  private changeStore(): void {
    if (!this.hasStoreTrouble) return;
    const { random } = this;
    this.trouble.isAway = random.chance(0.2);
    this.trouble.failing = random.pick([0, 0, 0.1, 0.4]);
    if (!this.trouble.isAway) return;
    const lastsMs = random.pick([100, 2_000, 10_000, 45_000]);
    this.time.after(lastsMs, () => {
      this.trouble.isAway = false;
    });
  }

  private changeServer(): void {
    const { random } = this;
    const place = random.between(0, this.servers.length - 1);
    const life = this.servers[place];
    if (life === undefined) {
      this.startServer(place);
    } else if (life.state === 'alive' && this.hasCrashes) {
      if (random.chance(0.7)) this.crash(life);
      else this.stopServer(life);
      this.servers[place] = undefined;
      if (random.chance(0.7)) this.startServer(place);
    }
  }

  private crash(life: Life): void {
    life.state = 'dead';
    life.endedAtMs = this.time.now();
  }

  private stopServer(life: Life): void {
    life.state = 'stopping';
    const askedAtMs = this.time.now();
    life.stoppingAtMs = askedAtMs;
    void life.pipeline.stop().then(() => {
      if (life.state === 'dead') return;
      life.state = 'ended';
      life.endedAtMs = this.time.now();
      const tookMs = life.endedAtMs - askedAtMs;
      // A slow store may take its part of each of the steps.
      if (tookMs > limits.stopMs + 2 * limits.storeStopMs + 2_000) {
        this.problems.push(`stopping took ${tookMs} ms`);
      }
    });
  }

  private startServer(place: number): void {
    const { random, time } = this;
    const state: LifeState = {
      number: this.lives.length,
      state: 'alive',
      stoppingAtMs: undefined,
      endedAtMs: undefined,
      gateways: new Map(),
    };
    const isAlive = () => isLiving(state);
    const around = {
      time,
      random,
      trouble: this.trouble,
      troubles: this.storeTroubles,
      isAlive,
    };
    for (const instance of this.instances) {
      state.gateways.set(instance, this.instanceOf(instance, state));
    }
    const pipeline = new Pipeline({
      store: troubled(new MemoryDeliveries(this.publishes.store, this.devices), around),
      backlog: new MemoryBacklog(this.publishes.store, this.devices),
      audience: troubled(new MemoryAudience(this.devices), around),
      instances: { byNumber: (instance) => state.gateways.get(instance) },
      timers: {
        now: () => time.now(),
        after: (ms, run) => time.after(ms, () => isAlive() && run()),
      },
      random: random.next,
      events: {
        started: ({ id }) => this.publishes.count(id, 'started'),
        finished: ({ id }) => this.publishes.count(id, 'finished'),
      },
      notices: {
        storeFailed: () => undefined,
        gaveWay: () => undefined,
        circuitOpened: () => undefined,
        circuitClosed: () => undefined,
        refused: () => undefined,
        fault: (error) => this.problems.push(`fault: ${String(error)}`),
      },
      isAlone: false,
      limits,
    });
    const life = Object.assign(state, { pipeline });
    this.lives.push(life);
    this.servers[place] = life;
  }

  private instanceOf(instance: number, life: LifeState): DeliveredInstance {
    return {
      id: `instance-${instance}`,
      retryMs: 72 * 3_600_000,
      pendingBytesMax: 0,
      gateways: this.gateways.of(instance, life.number, () => isLiving(life)),
    };
  }

  private wakeAll(): void {
    for (const { state, pipeline } of this.lives) if (state === 'alive') pipeline.wake();
  }

  /** Ends all trouble, and lets all publishes finish. */
  private async calmDown(): Promise<void> {
    this.gateways.calm();
    Object.assign(this.trouble, { isAway: false, failing: 0 });
    for (const place of this.servers.keys()) {
      if (this.servers[place] === undefined) this.startServer(place);
    }
    this.wakeAll();
    await this.reachHonest();
    this.gateways.areFakesGone = true;
    const ended = await this.runUntilOver();
    if (!ended) this.problems.push('not all publishes have come to an end');
    // The store answers for the last time, and servers check what they hold once more.
    await this.time.advance(1_000 + CHECK_MS);
    for (const life of this.lives) {
      if (life.state !== 'alive') continue;
      const { jobs, devices, planning } = life.pipeline.figures();
      if (ended && jobs + devices + planning > 0) {
        this.problems.push(`${jobs} jobs and ${planning} plans are held after all is done`);
      }
    }
  }

  /** Publishes to all devices once more: each honest device that was accepted before must be reached soon. */
  private async reachHonest(): Promise<void> {
    if (!this.hasFakes) return;
    const before = new Set(this.publishes.all.keys());
    const honest = this.instances.flatMap((instance) =>
      this.devices
        .of(instance)
        .filter(({ acceptedAtMs, token }) => acceptedAtMs !== undefined && !isEvil(token)),
    );
    for (const instance of this.instances) await this.publishes.publishToAll(instance);
    this.wakeAll();
    await this.time.advance(HONEST_MS);
    const reached = new Set(
      this.gateways.sends
        .filter(({ publish, outcome }) => !before.has(publish) && outcome?.result === 'accepted')
        .map(({ device }) => device),
    );
    for (const [id, { certain }] of this.publishes.all) {
      if (before.has(id)) continue;
      // A device whose token died meanwhile was deleted.
      const late = honest.filter(
        (device) =>
          certain.has(device.number) &&
          !reached.has(device.number) &&
          this.devices.of(device.instance).includes(device),
      );
      for (const { number } of late) this.problems.push(`${id}: device ${number} waits for long`);
    }
  }

  private async runUntilOver(): Promise<boolean> {
    const endMs = this.time.now() + CALM_MS;
    while (this.time.now() < endMs) {
      const isOver = this.publishes.store
        .all()
        .every(({ over, pages }) => over !== undefined && pages.every(isDone));
      if (isOver) return true;
      await this.time.advance(500);
    }
    return false;
  }

  private checkBounds(): void {
    // One claim may exceed the limit.
    const most =
      limits.sharedDevices +
      (limits.jobsAtOnce + limits.plans) * limits.pageDevices +
      this.instances.length * limits.pageDevices;
    for (const { pipeline, state } of this.lives) {
      if (state !== 'alive') continue;
      const { devices, planning } = pipeline.figures();
      if (devices > most || devices < 0) this.problems.push(`${devices} devices are held`);
      if (planning > limits.plans) this.problems.push(`${planning} publishes are planned`);
    }
  }
}

function isEvil({ token }: { readonly token: string }): boolean {
  return token.includes(EVIL);
}

function isLiving({ state }: LifeState): boolean {
  return state === 'alive' || state === 'stopping';
}

function isDone({
  state,
  fates,
}: {
  state: string;
  fates: ReadonlyMap<number, { state: string }>;
}): boolean {
  if (state === 'cancelled') return true;
  return state === 'delivered' && [...fates.values()].every((fate) => fate.state !== 'retrying');
}
