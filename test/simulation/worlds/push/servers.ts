import { type DeliveryLimits, deliveryLimits } from '../../../../src/push/delivering/limits.ts';
import { Pipeline } from '../../../../src/push/delivering/pipeline.ts';
import type { DeliveredInstance } from '../../../../src/push/delivering/ports.ts';
import { LiveStage } from '../../../../src/push/live/live-stage.ts';
import type { NewPublish } from '../../../../src/push/model/publish.ts';
import type { Timers } from '../../../../src/runtime/ports.ts';
import { MemoryBacklog } from '../../../../testing/memory-stores/backlog.ts';
import { MemoryDeliveries } from '../../../../testing/memory-stores/deliveries.ts';
import { MemoryAudience, type MemoryDevices } from '../../../../testing/memory-stores/devices.ts';
import { MemoryLive } from '../../../../testing/memory-stores/live-results.ts';
import type { MemoryPublishes } from '../../../../testing/memory-stores/publishes.ts';
import type { Random } from '../../../../testing/random.ts';
import type { RecordedHistory } from '../recorded-history.ts';
import type { WorldTime } from '../world-time.ts';
import type { SimulatedGateways } from './gateways.ts';
import type { LiveUsers } from './live-users.ts';
import type { Accept, SimulatedPublishes } from './publishes.ts';
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
  readonly accept: Accept;
}

export interface SimulatedServersOptions {
  readonly time: WorldTime;
  readonly random: Random;
  readonly history: RecordedHistory;
  readonly devices: MemoryDevices;
  readonly store: MemoryPublishes;
  readonly gateways: SimulatedGateways;
  readonly publishes: SimulatedPublishes;
  readonly app: LiveUsers;
  readonly instances: readonly number[];
  /** Notes what is broken. */
  readonly say: (rule: string, text: string) => void;
}

/** Servers that come and go, over one store. */
export class SimulatedServers {
  readonly lives: Life[] = [];
  readonly trouble: StoreTrouble = { isAway: false, failing: 0, slowMs: 0 };
  readonly storeTroubles: TroubleTime[] = [];
  private readonly options: SimulatedServersOptions;
  /** By place. */
  private readonly running: (Life | undefined)[] = [];
  /** What was recorded as accepted: `publish device`. */
  private readonly recorded = new Set<string>();

  constructor(options: SimulatedServersOptions) {
    this.options = options;
  }

  startAll(count: number): void {
    for (let place = 0; place < count; place++) this.start(place);
  }

  /** One of the servers that take requests. */
  any(): Accept | undefined {
    return this.options.random.pickIfAny(this.alive())?.accept;
  }

  wakeAll(): void {
    for (const { pipeline } of this.alive()) pipeline.wake();
  }

  /** As when an operator has changed a credential. */
  replaceGateway(instance: number): void {
    for (const life of this.alive()) {
      life.gateways.set(instance, this.instanceOf(instance, life));
      life.pipeline.wake();
    }
  }

  changeStore(): void {
    const { random, time } = this.options;
    this.trouble.isAway = random.chance(0.2);
    this.trouble.failing = random.pick([0, 0, 0.1, 0.4]);
    if (!this.trouble.isAway) return;
    const lastsMs = random.pick([100, 2_000, 10_000, 45_000]);
    time.after(lastsMs, () => {
      this.trouble.isAway = false;
    });
  }

  /** Starts a server, or ends one. */
  change(mayEnd: boolean): void {
    const { random } = this.options;
    const place = random.between(0, this.running.length - 1);
    const life = this.running[place];
    if (life === undefined) {
      this.start(place);
    } else if (life.state === 'alive' && mayEnd) {
      if (random.chance(0.7)) this.crash(life);
      else this.stop(life);
      this.running[place] = undefined;
      if (random.chance(0.7)) this.start(place);
    }
  }

  /** From now on everything works. */
  calm(): void {
    Object.assign(this.trouble, { isAway: false, failing: 0 });
    for (const place of this.running.keys()) {
      if (this.running[place] === undefined) this.start(place);
    }
    this.wakeAll();
  }

  /** `bounds`: no server holds more than its limits allow. */
  checkBounds(): void {
    const { instances, say } = this.options;
    // One claim may exceed the limit.
    const most =
      limits.sharedDevices +
      (limits.jobsAtOnce + limits.plans) * limits.pageDevices +
      instances.length * limits.pageDevices;
    for (const { pipeline } of this.alive()) {
      const { devices, planning } = pipeline.figures();
      if (devices > most || devices < 0) say('bounds', `${devices} devices are held`);
      if (planning > limits.plans) say('bounds', `${planning} publishes are planned`);
    }
  }

  /** `bounds`: nothing is held after all is done. */
  checkIdle(): void {
    for (const { pipeline } of this.alive()) {
      const { jobs, devices, planning } = pipeline.figures();
      if (jobs + devices + planning > 0) {
        this.options.say('bounds', `${jobs} jobs and ${planning} plans are held after all is done`);
      }
    }
  }

  private alive(): readonly Life[] {
    return this.lives.filter(({ state }) => state === 'alive');
  }

  private crash(life: Life): void {
    const { time, history } = this.options;
    life.state = 'dead';
    life.endedAtMs = time.now();
    this.recordAccepted();
    history.say('fault', { what: 'kill', on: `server ${life.number}` });
  }

  /** Records what the store has as accepted: no crash after this is a reason to notify these devices again. */
  private recordAccepted(): void {
    const { store, publishes, devices, history } = this.options;
    for (const { publish, pages } of store.all()) {
      for (const { fates } of pages) {
        for (const [number, { state }] of fates) {
          const key = `${publish.id} ${number}`;
          const device = devices.byNumber(publish.instance, number);
          if (state !== 'accepted' || device === undefined || this.recorded.has(key)) continue;
          this.recorded.add(key);
          history.say('explained', {
            p: publishes.nameOf(publish.id),
            d: device.registered.id,
            state: 'accepted',
          });
        }
      }
    }
  }

  private stop(life: Life): void {
    const { time, history, say } = this.options;
    const askedAtMs = time.now();
    life.state = 'stopping';
    life.stoppingAtMs = askedAtMs;
    const untilMs = askedAtMs + limits.stopMs + 2 * limits.storeStopMs + 2_000;
    history.say('fault', {
      what: 'stop',
      on: `server ${life.number}`,
      until: untilMs - history.startMs,
    });
    void life.pipeline.stop().then(() => {
      if (life.state === 'dead') return;
      life.state = 'ended';
      life.endedAtMs = time.now();
      // A slow store may take its part of each of the steps.
      if (time.now() > untilMs) say('stops', `stopping took ${time.now() - askedAtMs} ms`);
    });
  }

  private start(place: number): void {
    const { random, time, history, store, devices, publishes, app, instances, say } = this.options;
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
      failed: () => history.say('fault', { what: 'store-away' }),
      isAlive,
    };
    for (const instance of instances) {
      state.gateways.set(instance, this.instanceOf(instance, state));
    }
    const timers: Timers = {
      now: () => time.now(),
      after: (ms, run) => time.after(ms, () => isAlive() && run()),
    };
    const stage = new LiveStage({
      ask: async (publish) => {
        const result = await app.ask(publish);
        // A server that has crashed gets no answers.
        return isAlive() ? result : await new Promise(() => undefined);
      },
      store: troubled(new MemoryLive(store), around),
      now: () => time.now(),
      timers,
      settled: () => pipeline.wake(),
      counted: () => undefined,
      failed: () => undefined,
    });
    const ask = ({ id, instance, live, target: { names } }: NewPublish) => {
      if (live !== undefined) stage.add({ id, instance, appId: 'app', live, userIds: names });
    };
    const pipeline: Pipeline = new Pipeline({
      store: troubled(new MemoryDeliveries(store, devices), around),
      backlog: new MemoryBacklog(store, devices),
      audience: troubled(new MemoryAudience(devices), around),
      instances: { byNumber: (instance) => state.gateways.get(instance) },
      timers,
      random: random.next,
      events: {
        started: ({ id }) => publishes.count(id, 'started'),
        finished: ({ id }) => publishes.count(id, 'finished'),
      },
      notices: {
        storeFailed: () => undefined,
        gaveWay: () => undefined,
        circuitOpened: () => undefined,
        circuitClosed: () => undefined,
        refused: () => undefined,
        fault: (error) => say('fault', String(error)),
      },
      live: {
        due({ id }) {
          const one = publishes.all.get(id);
          if (one !== undefined) ask(one.publish);
        },
      },
      isAlone: false,
      limits,
    });
    const kept = troubled(store, around);
    const accept: Accept = async (publish) => {
      const acceptance = await kept.accept(publish);
      pipeline.wake();
      // One that repeats another was asked then, and a scheduled one will be when it is due.
      const isNew = acceptance.result === 'accepted' && acceptance.id === publish.id;
      if (isNew && publish.sendAtMs === undefined) ask(publish);
      return acceptance;
    };
    const life = Object.assign(state, { pipeline, accept });
    this.lives.push(life);
    this.running[place] = life;
  }

  private instanceOf(instance: number, life: LifeState): DeliveredInstance {
    return {
      id: `instance-${instance}`,
      retryMs: 72 * 3_600_000,
      pendingBytesMax: 0,
      gateways: this.options.gateways.of(instance, life.number, () => isLiving(life)),
    };
  }
}

function isLiving({ state }: LifeState): boolean {
  return state === 'alive' || state === 'stopping';
}
