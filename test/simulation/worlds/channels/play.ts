import type { AppWebhookEvent } from '../../../../src/channels/lifecycle/webhook-event.ts';
import { Recorder } from '../../../../src/verify/crowd/recorder.ts';
import type { FaultKind } from '../../../../src/verify/history/line.ts';
import { replacePusherRuntime } from '../../clients/pusher-runtime.ts';
import { useKernel } from '../../kernel/globals.ts';
import { Kernel } from '../../kernel/kernel.ts';
import { Network, useNetwork } from '../../network/network.ts';
import { forgetChance } from '../../servers/forget-chance.ts';
import type { Broken, Seed, SeedResult } from '../world.ts';
import { credentials, headerOf } from './app.ts';
import { type Conditions, drawConditions } from './conditions.ts';
import { Crowd } from './crowd.ts';

/** How long everything works before it is judged. Milliseconds. */
const MENDED_MS = 90_000;
/** When, in that time, somebody leaves for good, and when events are triggered once more. Milliseconds. */
const LEAVES_MS = 30_000;
const TRIGGERED_MS = 60_000;
/** How long after that the last answers may come. Milliseconds. */
const ENDS_MS = 5_000;
/** How late a write may come, and a message between loops. Milliseconds. */
const STALL_MS = 1_500;
const LOOP_STALL_MS = 300;
/** Servers are up before the first client comes. Milliseconds. */
const STARTS_MS = 1_000;

/** What a world of Channels is made of. */
export interface Scene {
  readonly kernel: Kernel;
  readonly network: Network;
  readonly conditions: Conditions;
  /** The name under which clients find the servers. */
  readonly host: string;
  /** Notes something that is broken beside what the checker sees. */
  broken(rule: string, text: string): void;
  /** Notes a fault of a server, and when it ends. */
  fault(what: FaultKind, untilMs: number): void;
  webhooks(events: readonly AppWebhookEvent[]): void;
}

/** The servers of a world. */
export interface Servers {
  start(): void;
  /** Lets something happen to one of them. */
  fail(): void;
  /** Whether webhooks can be put in their order by the clocks of the servers. */
  readonly haveRightClocks: boolean;
}

/** What is special in a world of Channels. */
export interface ChannelsWorld {
  /** Whether some clients have no WebSocket. */
  readonly hasHttpTransports: boolean;
  /** Plants a fault. */
  sabotage(name: string, scene: Pick<Scene, 'kernel' | 'network'>): void;
  servers(scene: Scene): Servers;
}

/** Plays a seed: clients, backends and servers in trouble; then everything works again, and the checker judges. */
export function playChannels(seed: Seed, world: ChannelsWorld): SeedResult {
  const kernel = new Kernel(seed.seed, seed.trace);
  useKernel(kernel);
  forgetChance();
  const network = new Network(kernel);
  useNetwork(network);
  replacePusherRuntime();
  const conditions = drawConditions(kernel.random);
  kernel.trace?.(JSON.stringify(conditions));
  if (seed.sabotage !== undefined) world.sabotage(seed.sabotage, { kernel, network });

  const broken: Broken[] = [];
  let faults = 0;
  let mendedAtMs = 0;
  const host = 'servers:6001';
  const scene: Scene = {
    kernel,
    network,
    conditions,
    host,
    broken: (rule, text) => void broken.push({ rule, text }),
    fault(what, untilMs) {
      faults++;
      mendedAtMs = Math.max(mendedAtMs, untilMs);
      recorder.add('fault', { what, until: untilMs });
      if (what === 'redis-lost') crowd.dataLost();
    },
    webhooks(events) {
      if (servers.haveRightClocks) recordWebhooks(recorder, events);
    },
  };
  const servers = world.servers(scene);
  const timers = {
    now: () => kernel.nowMs,
    after: (delayMs: number, run: () => void) => kernel.after(delayMs, run),
  };
  const recorder = new Recorder(headerOf(servers.haveRightClocks), timers, (line) => {
    kernel.trace?.(line);
    seed.history(line);
  });
  const crowd = new Crowd(
    kernel,
    { host, credentials, recorder },
    { count: conditions.clients, hasHttpTransports: world.hasHttpTransports },
  );

  servers.start();
  kernel.after(STARTS_MS, () => crowd.connect());
  const { rates, chaosMs } = conditions;
  const isChaos = () => kernel.nowMs < STARTS_MS + chaosMs;
  /** Does something again and again, at random times. */
  const often = (perSecond: number, act: () => void) => {
    if (perSecond === 0) return;
    const next = () => {
      const pauseMs = (-Math.log(1 - kernel.random.next()) * 1000) / perSecond;
      kernel.after(pauseMs, () => {
        if (!isChaos()) return;
        act();
        next();
      });
    };
    next();
  };
  const counted = (isDone: boolean) => {
    if (isDone) faults++;
  };
  kernel.after(STARTS_MS, () => {
    setTrouble(network, conditions);
    often(rates.triggers, () => crowd.trigger());
    often(rates.whispers, () => crowd.whisper());
    often(rates.moves, () => crowd.move());
    often(rates.reopens, () => crowd.reopen());
    often(rates.cuts, () => counted(crowd.cut()));
    often(rates.slowReaders, () => counted(crowd.slowDown()));
    often(rates.serverFaults, () => servers.fail());
    often(rates.silences, () => {
      const untilMs = crowd.silence();
      if (untilMs !== undefined) scene.fault('cut-off', untilMs);
    });
  });

  kernel.runUntil(STARTS_MS + chaosMs);
  const worksAtMs = Math.max(kernel.nowMs, mendedAtMs);
  endTrouble(network);
  kernel.runUntil(worksAtMs + LEAVES_MS);
  crowd.leaveForGood();
  kernel.runUntil(worksAtMs + TRIGGERED_MS);
  crowd.triggerEverywhere();
  kernel.runUntil(worksAtMs + MENDED_MS);
  for (const { part, isReady } of crowd.members) {
    const text = `client ${part.number} is not subscribed to all that it wants`;
    if (!isReady) broken.push({ rule: 'connected', text });
  }
  recorder.add('calm', {});
  crowd.askUsers();
  kernel.runUntil(kernel.nowMs + ENDS_MS);
  const { witnesses, deliveries } = recorder.verdict();
  for (const { rule, text, excuse } of witnesses) {
    if (excuse === undefined) broken.push({ rule, text });
  }
  return { virtualMs: kernel.nowMs, deliveries, faults: faults + network.cuts, broken };
}

function setTrouble({ delays, loopDelays, trouble }: Network, conditions: Conditions): void {
  const { leastMs, spreadMs, stallChance, loopSpreadMs, loopStallChance } = conditions;
  Object.assign(delays, { leastMs, spreadMs, stallChance, stallMs: STALL_MS });
  const stallMs = LOOP_STALL_MS;
  Object.assign(loopDelays, { spreadMs: loopSpreadMs, stallChance: loopStallChance, stallMs });
  trouble.cutsBehindFrame = conditions.cutsBehindFrame;
}

function endTrouble({ delays, loopDelays, trouble }: Network): void {
  delays.stallChance = 0;
  loopDelays.stallChance = 0;
  trouble.cutsBehindFrame = 0;
}

/** Writes down the events of one request. */
function recordWebhooks(recorder: Recorder, events: readonly AppWebhookEvent[]): void {
  const request = Bun.hash.xxHash32(JSON.stringify(events)).toString(36);
  const t = recorder.now;
  for (const { event, atMs } of events) {
    const { name, channel: ch } = event;
    if (ch === undefined) continue;
    const user = 'user_id' in event && event.user_id !== undefined ? { user: event.user_id } : {};
    recorder.add('webhook', { ch, name, ...user, time: atMs, request }, t);
  }
}
