import { CHECK_MS } from '../../../../src/push/delivering/limits.ts';
import { type DeviceId, type Platform, platforms } from '../../../../src/push/model/device.ts';
import type { PublishId } from '../../../../src/push/model/publish.ts';
import { MemoryDevices } from '../../../../testing/memory-stores/devices.ts';
import { MemoryPublishes } from '../../../../testing/memory-stores/publishes.ts';
import { MemoryStories } from '../../../../testing/memory-stores/stories.ts';
import type { Random } from '../../../../testing/random.ts';
import { useKernel } from '../../kernel/globals.ts';
import { Kernel } from '../../kernel/kernel.ts';
import { RecordedHistory } from '../recorded-history.ts';
import type { Broken, Seed } from '../world.ts';
import { WorldTime } from '../world-time.ts';
import { EVIL, evils, moods, SimulatedGateways, TURNS } from './gateways.ts';
import { LiveUsers } from './live-users.ts';
import { interests, SimulatedPublishes, users } from './publishes.ts';
import { explained } from './reasons.ts';
import { SimulatedServers } from './servers.ts';

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

/** After this time, the checker wants every notification of what was answered before. */
const JUDGED_MS = 6_000;

/** A world of devices, backends, servers and gateways in which a seed decides what happens when. */
export class PushWorld {
  readonly time: WorldTime;
  readonly history: RecordedHistory;
  readonly devices = new MemoryDevices();
  readonly store = new MemoryPublishes(this.devices);
  readonly problems: Broken[] = [];
  readonly gateways: SimulatedGateways;
  readonly publishes: SimulatedPublishes;
  readonly servers: SimulatedServers;
  /** Everything in this world. */
  readonly hasCrashes: boolean;
  readonly hasStoreTrouble: boolean;
  readonly hasFakes: boolean;
  private readonly random: Random;
  private readonly app: LiveUsers;
  private readonly instances: number[] = [];
  private named = 0;

  constructor(seed: Seed) {
    const { devices, store } = this;
    const { sabotage } = seed;
    const kernel = new Kernel(seed.seed, seed.trace);
    useKernel(kernel);
    const time = new WorldTime(kernel);
    const history = new RecordedHistory(() => time.now(), kernel);
    const { random } = kernel;
    this.time = time;
    this.history = history;
    this.random = random;
    const nameOf = (id: PublishId) => this.publishes.nameOf(id);
    this.gateways = new SimulatedGateways({ time, random, history, sabotage, nameOf });
    this.app = new LiveUsers({ time, random, history, users, sabotage });
    this.publishes = new SimulatedPublishes({
      time,
      random,
      history,
      nextEvent: () => this.app.nextEvent(),
      devices: (instance) => this.addressed(instance),
      server: () => this.servers.any(),
    });
    this.servers = new SimulatedServers({
      time,
      random,
      history,
      devices,
      store,
      gateways: this.gateways,
      publishes: this.publishes,
      app: this.app,
      instances: this.instances,
      say: (rule, text) => this.say(rule, text),
    });
    this.hasCrashes = random.chance(0.6);
    this.hasStoreTrouble = random.chance(0.6);
    this.hasFakes = random.chance(0.25);
    this.servers.trouble.slowMs = random.pick([0, 0, 3, 40]);
  }

  /** Plays to the end, when everything works again and all publishes are over. */
  async run(): Promise<void> {
    const { random, time, servers } = this;
    for (let count = random.between(1, 3); count > 0; count--) {
      this.instances.push(this.devices.newInstance());
    }
    for (let count = random.between(5, 30); count > 0; count--) await this.register();
    for (let count = this.hasFakes ? random.between(1, 20) : 0; count > 0; count--) {
      await this.register(undefined, EVIL + random.pick(evils) + random.pick(['', TURNS]));
    }
    for (const _ of users) if (random.chance(0.5)) this.app.change();
    servers.startAll(random.between(1, 2));

    const endMs = time.now() + CHAOS_MS;
    while (time.now() < endMs) {
      await this.happen();
      time.advance(random.pick([0, 0, 5, 100, 300, 1_000, 3_000]));
      servers.checkBounds();
    }
    await this.calmDown();
    const reasons = await explained({
      publishes: this.publishes,
      store: this.store,
      stories: new MemoryStories(this.store, this.devices),
      nowMs: time.now(),
    });
    for (const reason of reasons) this.history.say('explained', reason);
  }

  private say(rule: string, text: string): void {
    this.problems.push({ rule, text });
  }

  private async happen(): Promise<void> {
    const { random, servers } = this;
    const roll = random.next();
    if (roll < 0.25) return this.publish();
    if (roll < 0.33) return await this.changeDevices();
    if (roll < 0.37) return await this.cancel();
    if (roll < 0.45) return this.app.change();
    if (roll < 0.57) return this.changeMood();
    if (roll < 0.61) return servers.replaceGateway(random.pick(this.instances));
    if (roll < 0.76) return this.hasStoreTrouble ? servers.changeStore() : undefined;
    if (roll < 0.9) return servers.change(this.hasCrashes);
    servers.wakeAll();
  }

  private publish(): void {
    const { random } = this;
    this.publishes.publish(random.pick(this.instances));
    if (random.chance(0.7)) this.servers.wakeAll();
  }

  private async cancel(): Promise<void> {
    const { random, store, time } = this;
    const all = store.all();
    if (all.length === 0) return;
    const { instance, id } = random.pick(all).publish;
    const status = await store.cancel({ instance, id, nowMs: time.now() });
    const one = this.publishes.all.get(id);
    if (one !== undefined && status?.state === 'cancelled') one.cancelledAtMs ??= time.now();
  }

  private addressed(instance: number) {
    return this.devices.of(instance).map(({ registered, interests: wanted, userId }) => ({
      id: registered.id,
      platform: registered.platform,
      interests: wanted,
      userId,
    }));
  }

  private async register(replaced?: string, evil = ''): Promise<void> {
    const { random, time } = this;
    const instance = random.pick(this.instances);
    const platform = random.pick(platforms);
    this.named += 1;
    const id = `${platform}-${this.named}` as DeviceId;
    const identity = replaced ?? `identity-${this.named}`;
    for (const { registered, token } of this.devices.of(instance)) {
      if (token.identity === identity) this.publishes.changed(instance, registered.id);
    }
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
    if (random.chance(0.6)) {
      const ofUser = { userId: random.pick(users), max: 100, replaceOldest: false };
      await this.devices.setUser({ instance, id, ...ofUser, nowMs: time.now() });
    }
    this.publishes.changed(instance);
  }

  private token(platform: Platform, evil = ''): string {
    this.named += 1;
    const name = `${this.named}${evil}`;
    return platform === 'web'
      ? JSON.stringify({ endpoint: `${this.random.pick(origins)}/${name}`, keys: {} })
      : `token-${name}`;
  }

  private async changeDevices(): Promise<void> {
    const { random } = this;
    const instance = random.pick(this.instances);
    const devices = this.devices.of(instance);
    if (devices.length === 0 || random.chance(0.3)) return await this.register();
    const device = random.pick(devices);
    this.publishes.changed(instance, device.registered.id);
    await this.changeDevice(instance, device);
    this.publishes.changed(instance);
  }

  private async changeDevice(
    instance: number,
    { registered: { id, platform }, token }: ReturnType<MemoryDevices['of']>[number],
  ): Promise<void> {
    const { random, time, devices } = this;
    const what = random.next();
    if (what < 0.3) {
      await devices.delete({ instance, id });
      return;
    }
    if (what < 0.6) return await this.register(token.identity);
    if (what < 0.8) {
      await devices.setInterests({ instance, id, interests: random.some(interests, 0.5) });
      return;
    }
    const renewed = { token: this.token(platform), identity: `renewed-${this.named}` };
    await devices.setToken({ instance, id, ...renewed, nowMs: time.now() });
  }

  private changeMood(): void {
    const { random } = this;
    const platform = random.pick(platforms);
    const origin = platform === 'web' ? (URL.parse(random.pick(origins))?.host ?? '') : '';
    this.gateways.setMood(random.pick(this.instances), platform, origin, random.pick(moods));
  }

  /** Ends all trouble, and lets all publishes finish. */
  private async calmDown(): Promise<void> {
    const { servers, time } = this;
    this.gateways.calm();
    servers.calm();
    await this.reachHonest();
    this.gateways.areFakesGone = true;
    const ended = await this.runUntilOver();
    if (!ended) this.say('accounts', 'not all publishes have come to an end');
    // The store answers for the last time, and servers check what they hold once more.
    time.advance(1_000 + CHECK_MS);
    if (ended) servers.checkIdle();
    time.advance(JUDGED_MS);
    this.history.say('calm', {});
  }

  /** `fair`: publishes to all devices once more, and each honest device that was accepted before must be reached soon. */
  private async reachHonest(): Promise<void> {
    if (!this.hasFakes) return;
    const honest = this.instances.flatMap((instance) =>
      this.devices
        .of(instance)
        .filter(({ acceptedAtMs, token }) => acceptedAtMs !== undefined && !isEvil(token)),
    );
    const last = this.instances.map((instance) => this.publishes.publishToAll(instance));
    this.servers.wakeAll();
    this.time.advance(HONEST_MS);
    const isLast = ({ publish }: { readonly publish: PublishId }) =>
      last.some(({ p }) => p === this.publishes.nameOf(publish));
    const reached = new Set(
      this.gateways.sends
        .filter((send) => isLast(send) && send.outcome?.result === 'accepted')
        .map(({ device }) => device),
    );
    for (const wanted of last) {
      // A device whose token died meanwhile was deleted.
      const late = honest.filter(
        (device) =>
          wanted.certain.has(device.registered.id) &&
          !reached.has(device.number) &&
          this.devices.of(device.instance).includes(device),
      );
      for (const { number } of late) {
        this.say('fair', `${wanted.p}: device ${number} waits for long`);
      }
    }
  }

  private async runUntilOver(): Promise<boolean> {
    const endMs = this.time.now() + CALM_MS;
    while (this.time.now() < endMs) {
      const isOver = this.store
        .all()
        .every(({ over, pages }) => over !== undefined && pages.every(isDone));
      if (isOver && this.publishes.open === 0) return true;
      this.time.advance(500);
    }
    return false;
  }
}

function isEvil({ token }: { readonly token: string }): boolean {
  return token.includes(EVIL);
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
