/** The load generator for connections: a process of its own that does one task, and prints what came of it. */
import { lookup } from 'node:dns/promises';
import type { AppAddress } from '../bench-app.ts';
import type { Spent } from '../beside-floor.ts';
import { watchCpu } from '../machine/cpu-usage.ts';
import { ConnectionCrowd } from './crowd.ts';
import { Pacer, type Passage } from './pacer.ts';
import { residentBytes } from './server-memory.ts';
import { channelNames, privateSubscription, publicSubscriptions } from './subscriptions.ts';

export type ChannelKind = 'public' | 'private';

/** Connections that come and stay, and how many channels each of them is in. */
interface Audience {
  readonly connections: number;
  readonly channelsEach: number;
}

interface TaskAsks {
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

/** One run of connections that come and go. */
export interface ConnectRun extends Passage, Spent {}

/** One look at a server full of connections that say nothing. */
export interface IdleRun {
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  readonly bytesEach: number;
}

export interface LoadResults {
  readonly connect: ConnectRun;
  readonly idle: IdleRun;
}

/** Each client has one of a thousand channels, so that some are occupied and vacated all the time. */
const TURNSTILE_CHANNELS = 1000;
const IDLE_CONNECTING_MAX = 100;

function pacer(app: AppAddress, kind: ChannelKind, atOnce: number): Pacer {
  const subscriptions =
    kind === 'public'
      ? channelNames(TURNSTILE_CHANNELS).map((name) => publicSubscriptions([name]))
      : channelNames(TURNSTILE_CHANNELS, 'private-').map((name) => privateSubscription(app, name));
  return new Pacer(app, subscriptions, atOnce);
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
  const passage = pacer(task.app, task.kind, task.atOnce).run(
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
  const subscriptions = Array.from({ length: connectionsBefore + connections }, (_, client) =>
    publicSubscriptions(
      Array.from(
        { length: channelsEach },
        (__, place) => names[(client * channelsEach + place) % names.length] ?? '',
      ),
    ),
  );
  const assembly = new ConnectionCrowd(task.app, IDLE_CONNECTING_MAX);
  assembly.gather(subscriptions.slice(0, connectionsBefore));
  assembly.rest(task.settleSeconds);
  const bytesBefore = residentBytes(serverPid);
  assembly.gather(subscriptions.slice(connectionsBefore));
  assembly.rest(task.settleSeconds);
  const bytesAfter = residentBytes(serverPid);
  return { bytesBefore, bytesAfter, bytesEach: (bytesAfter - bytesBefore) / connections };
}

function perform(task: LoadTask): LoadResults[LoadTask['name']] {
  switch (task.name) {
    case 'connect':
      return connect(task);
    case 'idle':
      return idle(task);
    default:
      return task satisfies never;
  }
}

// Its parent is the one who writes it.
const task: LoadTask = JSON.parse(process.argv[2] ?? '');
const host = (await lookup(task.app.host, { family: 4 })).address;
console.log(JSON.stringify(perform({ ...task, app: { ...task.app, host } })));
