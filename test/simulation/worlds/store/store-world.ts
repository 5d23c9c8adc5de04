import { type DeviceId, platforms } from '../../../../src/push/model/device.ts';
import type { PublishId } from '../../../../src/push/model/publish.ts';
import { Database } from '../../../../src/stores/database/database.ts';
import { StoredStories } from '../../../../src/stores/push/publishes/device-story.ts';
import { StoredPublishes } from '../../../../src/stores/push/publishes/publish-store.ts';
import type { Random } from '../../../../testing/random.ts';
import { Context } from '../../kernel/context.ts';
import { useKernel } from '../../kernel/globals.ts';
import { Kernel } from '../../kernel/kernel.ts';
import { SimulatedGateways } from '../push/gateways.ts';
import { LiveUsers } from '../push/live-users.ts';
import { type AddressedDevice, interests, SimulatedPublishes, users } from '../push/publishes.ts';
import { explained } from '../push/reasons.ts';
import { RecordedHistory } from '../recorded-history.ts';
import type { Broken, Seed, SeedResult } from '../world.ts';
import { WorldTime } from '../world-time.ts';
import { SimulatedChannels } from './channels.ts';
import { findUnfinished } from './checks.ts';
import type { Disk, DiskFault } from './disk.ts';
import { Endpoints, PUBLISH_HOOK } from './endpoints.ts';
import { type StoreServer, startServer } from './server.ts';

/** How long everything works before that is judged: longer than the pauses of webhooks that began before. */
const CALM_MS = 55_000;

/**
 * The same for a server whose store has failed: the report of a publish that could not be stored stays claimed for a minute, and waiting
 * webhooks are counted again every 30 s.
 */
const FAILED_CALM_MS = 100_000;

/** How long the disk is full. */
const FULL_MS = 4_000;

/** How long nobody starts a server that has died, or could not start. */
const START_MS = 800;

/** How often a commit is forgotten that was answered, where that is planted. */
const SABOTAGED = 0.1;

/** What a seed is played with. */
export interface Conditions {
  /** How long things go wrong. */
  readonly chaosMs: number;
  /** Decides about each call of the disk, by number. */
  readonly fault: (call: number, random: Random) => DiskFault | undefined;
}

/** One server over SQLite, whose disk fails and which dies in the middle of its calls. */
export class StoreWorld {
  private readonly seed: Seed;
  private readonly kernel: Kernel;
  private readonly random: Random;
  private readonly time: WorldTime;
  private readonly history: RecordedHistory;
  private readonly disk: Disk;
  private readonly conditions: Conditions;
  private readonly gateways: SimulatedGateways;
  private readonly app: LiveUsers;
  private readonly endpoints: Endpoints;
  private readonly publishes: SimulatedPublishes;
  private readonly channels: SimulatedChannels;
  private readonly devices: (AddressedDevice & { isUncertain: boolean })[] = [];
  private readonly problems: Broken[] = [];
  /** What was recorded as accepted: `publish device`. */
  private readonly accepted = new Set<string>();
  private readonly isBatching: boolean;
  private instance = 0;
  private server: StoreServer | undefined;
  private isCalm = true;
  private fullUntilMs = 0;
  private lives = 0;
  /** The latest life of the server in which a call of the disk has failed. */
  private failedLife = 0;

  constructor(seed: Seed, disk: Disk, conditions: Conditions) {
    const { sabotage } = seed;
    const kernel = new Kernel(seed.seed, seed.trace);
    useKernel(kernel);
    const { random } = kernel;
    const time = new WorldTime(kernel);
    const history = new RecordedHistory(() => time.now(), kernel, { webhooks: true });
    this.seed = seed;
    this.kernel = kernel;
    this.random = random;
    this.time = time;
    this.history = history;
    this.disk = disk;
    this.conditions = conditions;
    const nameOf = (id: PublishId) => this.publishes.nameOf(id);
    this.gateways = new SimulatedGateways({ time, random, history, sabotage, nameOf });
    this.app = new LiveUsers({ time, random, history, users, sabotage });
    this.endpoints = new Endpoints({ time, random, history, trace: kernel.trace });
    this.publishes = new SimulatedPublishes({
      time,
      random,
      history,
      devices: () => this.devices,
      nextEvent: () => this.app.nextEvent(),
      webhookUrl: PUBLISH_HOOK,
      server: () => {
        const { server } = this;
        return server && ((publish) => this.inside(server, () => server.accept(publish)));
      },
    });
    this.channels = new SimulatedChannels({
      time,
      random,
      history,
      server: () => {
        const { server } = this;
        return (
          server &&
          ((events, stored) => {
            const accept = () => server.webhooks.accept(events, stored);
            kernel.after(0, accept, server.context);
          })
        );
      },
    });
    this.isBatching = random.chance(0.5);
  }

  async run(): Promise<SeedResult> {
    const { random, time, kernel } = this;
    this.instance = await this.disk.empty({
      next: (call) => {
        const fault = this.isCalm ? undefined : this.conditions.fault(call, random);
        if (fault !== undefined) kernel.trace?.(`call ${call} of the disk: ${fault}`);
        return fault;
      },
      failed: () => this.failed(),
      filled: () => this.fill(),
      isFull: () => !this.isCalm && kernel.nowMs < this.fullUntilMs,
      forgets: () =>
        this.seed.sabotage === 'lose-answered' && !this.isCalm && random.chance(SABOTAGED),
    });
    this.start();
    time.advance(START_MS);
    for (let count = random.between(3, 6); count > 0; count--) void this.register();
    for (const _ of users) if (random.chance(0.5)) this.app.change();
    time.advance(START_MS);
    this.isCalm = false;
    while (kernel.nowMs < this.conditions.chaosMs) {
      this.happen();
      time.advance(random.between(1, 800));
    }
    await this.calmDown();
    return this.history.end(this.seed, [...this.problems, ...this.endpoints.problems]);
  }

  private happen(): void {
    const { random } = this;
    const roll = random.next();
    if (roll < 0.3) return this.publishes.publish(this.instance);
    if (roll < 0.65) return this.channels.change();
    if (roll < 0.75) return this.app.change();
    if (roll < 0.82) return void this.register();
    if (roll < 0.92) return this.endpoints.changeMood();
    this.gateways.setMood(
      this.instance,
      random.pick(platforms),
      '',
      random.pick(['fine', 'slow', 'shaky', 'down']),
    );
  }

  /** Has a device registered by its app, which repeats each request until it is answered. */
  private async register(): Promise<void> {
    const { random, time, instance } = this;
    const platform = random.pick(['apns', 'fcm'] as const);
    const name = `${platform}-${this.devices.length + 1}`;
    const id = name as DeviceId;
    const wanted = random.some(interests, 0.6);
    const userId = random.chance(0.7) ? random.pick(users) : undefined;
    const device = { id, platform, interests: new Set(wanted), userId, isUncertain: true };
    this.devices.push(device);
    this.publishes.changed(instance);
    const token = { token: name, identity: name };
    const fields = { ...token, id, platform, bundleId: undefined, metadata: {}, client: '' };
    const of = { instance, id };
    await this.insist(({ devices }) =>
      devices.register({ instance, device: fields, nowMs: time.now() }),
    );
    await this.insist(({ devices }) => devices.setInterests({ ...of, interests: wanted }));
    if (userId !== undefined) {
      const ofUser = { ...of, userId, max: 100, replaceOldest: false };
      await this.insist(({ devices }) => devices.setUser({ ...ofUser, nowMs: time.now() }));
    }
    device.isUncertain = false;
  }

  /** Asks the server until it answers. */
  private async insist(ask: (server: StoreServer) => Promise<unknown>): Promise<void> {
    const pause = (ms: number) =>
      new Promise<false>((resolve) => this.time.after(ms, () => resolve(false)));
    for (;;) {
      const { server } = this;
      const answered =
        server &&
        (await Promise.race([
          this.inside(server, () => ask(server)).then(
            () => true,
            () => false,
          ),
          pause(5_000),
        ]));
      if (answered === true) return;
      await pause(1_000);
    }
  }

  /** Runs something as part of a server. Never settles if that dies. */
  private inside<T>({ context }: StoreServer, run: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.kernel.after(0, () => void run().then(resolve, reject), context);
    });
  }

  private start(): void {
    this.lives += 1;
    const context = new Context(`server ${this.lives}`);
    const { kernel, random, disk, gateways, app, endpoints, instance, isBatching } = this;
    const die = () => this.died(context, 'kill');
    const options = {
      kernel,
      random,
      disk,
      instance,
      gateways,
      app,
      endpoints,
      isBatching,
      sabotage: this.seed.sabotage,
      publish: (id: PublishId) => this.publishes.all.get(id)?.publish,
      say: (rule: string, text: string) => this.problems.push({ rule, text }),
    };
    const started = (server: StoreServer) => {
      if (context.isDead) return;
      this.server = server;
      this.channels.serverStarted();
      this.app.serverStarted();
    };
    const failed = () => this.died(context, 'stop');
    kernel.after(0, () => void startServer(context, die, options).then(started, failed), context);
  }

  private died(context: Context, what: 'kill' | 'stop'): void {
    const { history, time } = this;
    if (context.isDead) return;
    context.isDead = true;
    this.server = undefined;
    history.say('fault', { what, on: context.name });
    this.channels.serverDied();
    this.app.serverDied();
    time.after(START_MS, () => {
      void this.explainAccepted();
      this.start();
    });
  }

  private failed(): void {
    this.failedLife = this.lives;
    this.history.say('fault', { what: 'store-away' });
  }

  private fill(): void {
    const { history, kernel } = this;
    this.fullUntilMs = kernel.nowMs + FULL_MS;
    history.say('fault', { what: 'store-away', until: kernel.nowMs + FULL_MS });
  }

  /** Records what the store has as accepted: no crash before this is a reason to notify these devices again. */
  private async explainAccepted(): Promise<void> {
    const { notified } = this.gateways;
    const isNews = (p: string, d: string) =>
      notified.has(`${p} ${d}`) && !this.accepted.has(`${p} ${d}`);
    for (const reason of await this.explain(isNews)) {
      if (reason.state !== 'accepted') continue;
      this.accepted.add(`${reason.p} ${reason.d}`);
      this.history.say('explained', reason);
    }
  }

  private explain(isWanted: (p: string, d: string) => boolean) {
    const database = new Database(this.disk.backend);
    return explained({
      publishes: this.publishes,
      store: new StoredPublishes(database),
      stories: new StoredStories(database),
      nowMs: this.time.now(),
      isWanted,
    });
  }

  /** Mends everything, and waits for the end of all that is under way. */
  private async calmDown(): Promise<void> {
    const { time, history } = this;
    const hasFailed = this.server !== undefined && this.failedLife === this.lives;
    this.isCalm = true;
    this.gateways.calm();
    this.endpoints.calm();
    time.advance(hasFailed ? FAILED_CALM_MS : CALM_MS);
    const { notified } = this.gateways;
    const reasons = await this.explain((p, d) => !notified.has(`${p} ${d}`));
    for (const reason of reasons) history.say('explained', reason);
    const { server, publishes, disk, endpoints } = this;
    const store = new StoredPublishes(new Database(disk.backend));
    const nowMs = time.now();
    const unfinished = await findUnfinished({ server, store, publishes, endpoints, nowMs });
    this.problems.push(...unfinished);
    history.say('calm', {});
  }
}
