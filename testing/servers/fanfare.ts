import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newStorePostgres } from '../databases/postgres.ts';
import type { OnlyOne } from './only-one.ts';
import { ProcessOutput } from './process-output.ts';
import { sharedRedis } from './redis.ts';
import { RoundRobin } from './round-robin.ts';

/** The app that every test server has, unless its configuration says otherwise. */
export const APP = {
  id: '3',
  key: '278d425bdf160c739803',
  secret: '7ad3773142a6692b25b8',
} as const;

export interface FanfareOptions {
  /** Over the settings of the app; `limits` are merged. */
  readonly app?: Readonly<Record<string, unknown>>;
  /** Beside that app. */
  readonly moreApps?: readonly Readonly<Record<string, unknown>>[];
  /** Over `channels`, `apps` excepted. */
  readonly channels?: Readonly<Record<string, unknown>>;
  /** Over the whole configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly environment?: Readonly<Record<string, string>>;
  /** Runs instead of `src/main.ts`, with the same arguments. */
  readonly program?: string;
  /** How many files it may have open, connections included. */
  readonly openFilesMax?: number;
  /** Begins the command line, such as that of a control group. */
  readonly command?: readonly string[];
  /** The number of realtime threads; the default is the environment variable `TEST_THREADS`, or 1. */
  readonly threads?: number;
  /** Why it is always one server without Redis, also if `TEST_SERVERS` says otherwise. */
  readonly onlyOne?: OnlyOne;
}

/** A real server, in a process of its own; or several that act as one, of which each connection reaches the next. */
export interface Fanfare extends AsyncDisposable {
  /** Like the other ports 0 for a Unix socket. */
  readonly port: number;
  readonly pushPort: number;
  /** The port of the admin API; of several servers that of the first, like everything below but what is printed. */
  readonly adminPort: number;
  /** The password of the admin API, if the server has made it; `undefined` if it is configured. */
  readonly adminPassword: string | undefined;
  readonly process: Bun.Subprocess;
  /** The working directory of the server. */
  readonly directory: string;
  /** The servers behind its ports: only itself, if it is one. */
  readonly nodes: readonly Fanfare[];
  /** What it has printed so far, and logged so far. */
  readonly output: { stdout: string; stderr: string };
  /** Settles with the first line of the log, past or to come, that matches. */
  logged(pattern: RegExp): Promise<string>;
  /** Settles with the first matching line that is logged after this call. */
  logsNext(pattern: RegExp): Promise<string>;
  /** Sends a signal and returns the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number>;
}

/** What a server runs: in a test run, the bundle of `src/main.ts` that `bundle.ts` made. */
export const PROGRAM = process.env['TEST_PROGRAM'] ?? join(import.meta.dir, '../../src/main.ts');

/** The command that runs a program; without one, the server itself, which test runs have as a binary. */
export function commandOf(program?: string): readonly string[] {
  const binary = process.env['TEST_BINARY'];
  return program === undefined && binary !== undefined
    ? [binary]
    : [process.execPath, program ?? PROGRAM];
}

/** The settings of the runtime by which `bin/fanfare` starts a server. Without them the binary sets them and starts itself again, which takes a fifth of its CPU time. */
const RUNTIME: Readonly<Record<string, string>> = Object.fromEntries(
  Array.from(
    readFileSync(join(import.meta.dir, '../../bin/fanfare'), 'utf8').matchAll(
      /\$\{(\w+):=(\d+)\}/g,
    ),
    ([, name = '', value = '']) => [name, value],
  ),
);

/**
 * In a test run a server lives for seconds, so the runtime compiles only what runs very often: a start takes a tenth less CPU
 * time. Benchmarks measure servers as they are shipped.
 */
const SHORT_LIFE: Readonly<Record<string, string>> =
  process.env['TEST_RUN_FOLDER'] === undefined
    ? {}
    : {
        BUN_JSC_thresholdForJITAfterWarmUp: '20000',
        BUN_JSC_thresholdForJITSoon: '20000',
        BUN_JSC_thresholdForOptimizeAfterWarmUp: '100000',
        BUN_JSC_thresholdForOptimizeAfterLongWarmUp: '100000',
        BUN_JSC_thresholdForOptimizeSoon: '100000',
      };

/** The binary would name itself by its path. */
export const COMMAND_IN_HINTS = { FANFARE_COMMAND: 'npx fanfare' } as const;

/** How many realtime threads a test server has that is not started with another number. */
export const THREADS = Number(process.env['TEST_THREADS'] ?? 1);

/**
 * How many servers over Redis, with one address, a test server is; `undefined` if it is one without Redis. Set by the
 * environment variable `TEST_SERVERS`.
 */
export const SERVERS =
  process.env['TEST_SERVERS'] === undefined ? undefined : Number(process.env['TEST_SERVERS']);

/** The configuration of a test server: free ports, and everything it keeps in `directory`. */
export function configOf(directory: string, options: FanfareOptions = {}): object {
  const { limits, ...app } = (options.app ?? {}) as { limits?: object };
  return {
    channels: {
      host: '127.0.0.1',
      port: 0,
      ...options.channels,
      apps: [
        { id: APP.id, name: 'test', keys: [{ key: APP.key, secret: APP.secret }], limits, ...app },
        ...(options.moreApps ?? []),
      ],
    },
    push: { port: 0 },
    admin: { port: 0 },
    store: { url: `sqlite:${join(directory, 'fanfare.db')}` },
    log: { level: 'debug', format: 'json' },
    drainSeconds: 0,
    ...options.config,
  };
}

/** Where a server of these tests may keep the password of its admin API. */
const PASSWORD_FILES = [
  'fanfare.db.admin-password',
  'data/fanfare.db.admin-password',
  'data/admin-password',
];

function keptAdminPassword(directory: string): string | undefined {
  const file = PASSWORD_FILES.map((name) => join(directory, name)).find((path) => existsSync(path));
  return file === undefined ? undefined : readFileSync(file, 'utf8').trim();
}

/** Starts a server with one app, and waits until it listens. */
export async function startFanfare(options: FanfareOptions = {}): Promise<Fanfare> {
  const isGiven = ['engine', 'store'].some((part) => part in (options.config ?? {}));
  if (SERVERS === undefined || options.onlyOne !== undefined || isGiven) return startOne(options);
  await using parts = new AsyncDisposableStack();
  const database = parts.use(await newStorePostgres());
  const config = {
    ...options.config,
    store: { url: database.url },
    engine: { type: 'redis', url: await sharedRedis(), keyPrefix: `${crypto.randomUUID()}:` },
  };
  const starting = Array.from({ length: SERVERS }, () => startOne({ ...options, config }));
  const nodes = await allStarted(starting);
  for (const node of nodes) parts.use(node);
  const channels = parts.use(new RoundRobin());
  const push = parts.use(new RoundRobin());
  const server = behind({ channels, push }, nodes);
  const running = parts.move();
  return Object.assign(server, { [Symbol.asyncDispose]: () => running.disposeAsync() });
}

async function startOne(options: FanfareOptions): Promise<Fanfare> {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-test-'));
  const file = join(directory, 'config.json');
  writeFileSync(file, JSON.stringify(configOf(directory, options)));
  const server = await spawnFanfare(
    ['serve', '--config', file],
    directory,
    { ...threadsIn(options.threads), ...options.environment },
    options,
  ).catch((error) => {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  });
  const end = server[Symbol.asyncDispose];
  return Object.assign(server, {
    async [Symbol.asyncDispose]() {
      await end();
      rmSync(directory, { recursive: true, force: true });
    },
  });
}

/** Settles when all have started. If one does not, ends the others. */
async function allStarted(starting: readonly Promise<Fanfare>[]): Promise<readonly Fanfare[]> {
  const outcomes = await Promise.allSettled(starting);
  const nodes = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = outcomes.find(({ status }) => status === 'rejected');
  if (failed === undefined) return nodes;
  for (const node of nodes) await node[Symbol.asyncDispose]();
  throw (failed as PromiseRejectedResult).reason;
}

interface Addresses {
  readonly channels: RoundRobin;
  readonly push: RoundRobin;
}

/** The addresses of servers that act as one, by the port for Channels. */
const addressesByPort = new Map<number, Addresses>();

/** The ports for Channels of all servers that one address stands for. */
export function portsBehind(port: number): readonly number[] {
  return addressesByPort.get(port)?.channels.targets ?? [port];
}

/** Servers that act as one behind the addresses of a server that was stopped. */
export function behindTheSame(server: Fanfare, nodes: readonly Fanfare[]): Fanfare {
  const addresses = addressesByPort.get(server.port);
  if (addresses === undefined) throw new Error('It was one server');
  return behind(addresses, nodes);
}

function behind({ channels, push }: Addresses, nodes: readonly Fanfare[]): Fanfare {
  const [first] = nodes;
  if (first === undefined) throw new Error('No server');
  channels.targets = nodes.map(({ port }) => port);
  push.targets = nodes.map(({ pushPort }) => pushPort);
  addressesByPort.set(channels.port, { channels, push });
  const anyOf = (ask: (node: Fanfare) => Promise<string>) => Promise.any(nodes.map(ask));
  return {
    port: channels.port,
    pushPort: push.port,
    adminPort: first.adminPort,
    get adminPassword() {
      return first.adminPassword;
    },
    process: first.process,
    directory: first.directory,
    nodes,
    output: {
      get stdout() {
        return nodes.map(({ output }) => output.stdout).join('');
      },
      get stderr() {
        return nodes.map(({ output }) => output.stderr).join('');
      },
    },
    logged: (pattern) => anyOf((node) => node.logged(pattern)),
    logsNext: (pattern) => anyOf((node) => node.logsNext(pattern)),
    async stop(signal) {
      return Math.max(...(await Promise.all(nodes.map((node) => node.stop(signal)))));
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
    },
  };
}

/** The environment of a server with as many realtime threads. */
function threadsIn(threads: number | undefined): Readonly<Record<string, string>> {
  return threads === undefined ? {} : { FANFARE_REALTIME_THREADS: String(threads) };
}

/** Starts `fanfare` with any arguments in a directory, and waits until it listens. */
export async function spawnFanfare(
  args: readonly string[],
  directory: string,
  environment: Readonly<Record<string, string>> = {},
  {
    program,
    openFilesMax,
    command: before = [],
  }: Pick<FanfareOptions, 'program' | 'openFilesMax' | 'command'> = {},
): Promise<Fanfare> {
  const limited =
    openFilesMax === undefined
      ? []
      : ['sh', '-c', 'ulimit -n "$0" && exec "$@"', String(openFilesMax)];
  const command = commandOf(program);
  return await spawnProgram([...before, ...limited, ...command, ...args], directory, {
    ...COMMAND_IN_HINTS,
    ...RUNTIME,
    ...SHORT_LIFE,
    ...threadsIn(THREADS),
    ...environment,
  });
}

/** Starts a server with a whole command line, and waits until it listens. */
export async function spawnProgram(
  command: readonly string[],
  directory: string,
  environment: Readonly<Record<string, string>>,
): Promise<Fanfare> {
  const process_ = Bun.spawn([...command], {
    cwd: directory,
    env: { ...process.env, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const output = new ProcessOutput(process_);
  const portOf = (name: string) => {
    const place = new RegExp(`^${name} +(?:https?://.*:(\\d+)|unix:\\S+) `, 'm');
    const match = place.exec(output.stdout);
    return match === null ? undefined : Number(match[1] ?? 0);
  };

  const port = await output.until(() => portOf('Channels'), 'listened');
  const pushPort = await output.until(() => portOf('Push'), 'listened');
  const adminPort = await output.until(() => portOf('Admin'), 'listened');
  const server: Fanfare = {
    port,
    pushPort,
    adminPort,
    get nodes() {
      return [server];
    },
    get adminPassword() {
      return keptAdminPassword(directory);
    },
    process: process_,
    directory,
    output,
    logged: (pattern) => output.line(0, pattern),
    logsNext: (pattern) => output.line(output.stderr.length, pattern),
    async stop(signal = 'SIGTERM') {
      process_.kill(signal);
      return await process_.exited;
    },
    async [Symbol.asyncDispose]() {
      process_.kill('SIGKILL');
      await process_.exited;
    },
  };
  return server;
}
