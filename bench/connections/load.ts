/** The load generator for connections: a process of its own that does one task, and prints what came of it. */
import { lookup } from 'node:dns/promises';
import type { AppAddress } from '../bench-app.ts';
import { type CpuUsage, watchCpu } from '../cpu-usage.ts';
import { Assembly } from './assembly.ts';
import { residentBytes } from './server-memory.ts';
import { type Passage, Turnstile } from './turnstile.ts';
import { channelNames, privateWish, publicWish, type Wish } from './wishes.ts';

export type ChannelKind = 'public' | 'private';

/** Connections that come and stay, and how many channels each of them is in. */
interface Audience {
  readonly connections: number;
  readonly channelsEach: number;
}

interface TaskAsks {
  readonly ceiling: {
    readonly kind: ChannelKind;
    readonly atOnce: number;
    readonly rounds: number;
  };
  readonly connect: {
    readonly kind: ChannelKind;
    readonly atOnce: number;
    readonly warmupSeconds: number;
    readonly seconds: number;
  };
  readonly idle: Audience & {
    /** In how many channels all of them are together. */
    readonly channels: number;
    /** Connected before anything is measured. */
    readonly connectionsBefore: number;
    readonly settleSeconds: number;
    readonly serverPid: number;
  };
  readonly storm: Audience & {
    /** How many are in a channel that is not one's own. */
    readonly sharedBy: number;
    readonly storms: number;
    readonly restSeconds: number;
  };
}

/** What a load process can be asked to do. */
export type LoadTask = {
  [Name in keyof TaskAsks]: {
    readonly name: Name;
    readonly app: AppAddress;
    /** Nothing where the server is not a process of this machine's benchmark. */
    readonly serverPid?: number | undefined;
  } & TaskAsks[Name];
}[keyof TaskAsks];

/** Processor time while something ran, in cores. */
export interface Spent {
  /** The load's own. */
  readonly loadCpu: number;
  /** Nothing where the server is not ours to watch. */
  readonly cpu: CpuUsage | undefined;
}

/** One run of connections that come and go. */
export interface ConnectRun extends Passage, Spent {}

/** One look at a server full of connections that say nothing. */
export interface IdleRun {
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  readonly bytesEach: number;
}

/** How long it took each time until everybody was subscribed again, from when all were cut off. */
export interface StormRun extends Spent {
  readonly backMs: readonly number[];
}

export interface LoadResults {
  /** Connections per second that the load could make alone. */
  readonly ceiling: number;
  readonly connect: ConnectRun;
  readonly idle: IdleRun;
  readonly storm: StormRun;
}

/** Each visitor has one of a thousand channels, so that some are occupied and vacated all the time. */
const TURNSTILE_CHANNELS = 1000;
const IDLE_CONNECTING_MAX = 100;
const STORM_CONNECTING_MAX = 400;

function turnstile(app: AppAddress, kind: ChannelKind, atOnce: number): Turnstile {
  const wishes =
    kind === 'public'
      ? channelNames(TURNSTILE_CHANNELS).map((name) => publicWish([name]))
      : channelNames(TURNSTILE_CHANNELS, 'private-').map((name) => privateWish(app, name));
  return new Turnstile(app, wishes, atOnce);
}

/** Starts to watch the processors; the function returned says what was used since. */
function watchSpent(serverPid: number | undefined): () => Spent {
  const startMs = performance.now();
  const before = process.cpuUsage();
  // The parent sleeps meanwhile, but counts as ours where it does not.
  const used =
    serverPid === undefined ? undefined : watchCpu({ server: serverPid, load: process.ppid });
  return () => {
    const { user, system } = process.cpuUsage(before);
    const tookUs = (performance.now() - startMs) * 1000;
    return { loadCpu: (user + system) / tookUs, cpu: used?.() };
  };
}

function connect(task: LoadTask & { name: 'connect' }): ConnectRun {
  let spent: (() => Spent) | undefined;
  const passage = turnstile(task.app, task.kind, task.atOnce).run(
    task.warmupSeconds,
    task.seconds,
    () => {
      spent = watchSpent(task.serverPid);
    },
  );
  return { ...passage, ...(spent?.() ?? { loadCpu: 0, cpu: undefined }) };
}

function idle(task: LoadTask & { name: 'idle' }): IdleRun {
  const { serverPid, connections, connectionsBefore, channelsEach } = task;
  const names = channelNames(task.channels);
  const wishes = Array.from({ length: connectionsBefore + connections }, (_, visitor) =>
    publicWish(
      Array.from(
        { length: channelsEach },
        (__, place) => names[(visitor * channelsEach + place) % names.length] ?? '',
      ),
    ),
  );
  const assembly = new Assembly(task.app, IDLE_CONNECTING_MAX);
  assembly.gather(wishes.slice(0, connectionsBefore));
  assembly.rest(task.settleSeconds);
  const bytesBefore = residentBytes(serverPid);
  assembly.gather(wishes.slice(connectionsBefore));
  assembly.rest(task.settleSeconds);
  const bytesAfter = residentBytes(serverPid);
  return { bytesBefore, bytesAfter, bytesEach: (bytesAfter - bytesBefore) / connections };
}

function storm(task: LoadTask & { name: 'storm' }): StormRun {
  const { connections, channelsEach, sharedBy } = task;
  const shared = channelNames(Math.ceil(connections / sharedBy));
  const wishes: Wish[] = Array.from({ length: connections }, (_, visitor) =>
    publicWish([
      shared[visitor % shared.length] ?? '',
      ...channelNames(channelsEach - 1, `own-${visitor}-`),
    ]),
  );
  const assembly = new Assembly(task.app, STORM_CONNECTING_MAX);
  const strike = () => {
    const startMs = performance.now();
    assembly.dropAll();
    assembly.gather(wishes);
    return performance.now() - startMs;
  };

  assembly.gather(wishes);
  // Not judged: it is there for the compilers of both sides.
  strike();
  const backMs: number[] = [];
  const all: Spent[] = [];
  for (let number = 0; number < task.storms; number += 1) {
    // What is left of the one before, such as garbage, is not to be paid by the next.
    assembly.rest(task.restSeconds);
    const spent = watchSpent(task.serverPid);
    backMs.push(strike());
    all.push(spent());
  }
  return { backMs, ...meanSpent(all) };
}

function meanSpent(all: readonly Spent[]): Spent {
  const mean = (pick: (spent: Spent) => number) =>
    all.reduce((total, spent) => total + pick(spent), 0) / Math.max(1, all.length);
  const isWatched = all.every(({ cpu }) => cpu !== undefined);
  return {
    loadCpu: mean(({ loadCpu }) => loadCpu),
    cpu: isWatched
      ? {
          server: mean(({ cpu }) => cpu?.server ?? 0),
          others: mean(({ cpu }) => cpu?.others ?? 0),
        }
      : undefined,
  };
}

function perform(task: LoadTask): LoadResults[LoadTask['name']] {
  switch (task.name) {
    case 'ceiling':
      return turnstile(task.app, task.kind, task.atOnce).ceiling(task.rounds);
    case 'connect':
      return connect(task);
    case 'idle':
      return idle(task);
    case 'storm':
      return storm(task);
    default:
      return task satisfies never;
  }
}

// Its parent is the one who writes it.
const task: LoadTask = JSON.parse(process.argv[2] ?? '');
const host = (await lookup(task.app.host, { family: 4 })).address;
console.log(JSON.stringify(perform({ ...task, app: { ...task.app, host } })));
