import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AppAddress, benchApp, benchAppAt } from './bench-app.ts';
import { type KnownSettings, knownSettings } from './versions/known-settings.ts';

/** In user-mode Linux on a busy machine, a server starts within half a minute. */
const READY_WITHIN_MS = 120_000;
const READY_CHECK_MS = 10;
const STOPPED_WITHIN_MS = 5_000;

/** A server to measure, up and ready. */
export interface RunningServer extends AsyncDisposable {
  readonly app: AppAddress;
  /** `undefined` if it was already running. */
  readonly pid: number | undefined;
}

/** A server in a process of ours. */
export interface StartedServer extends RunningServer {
  readonly pid: number;
  /** Ends the process with SIGKILL. Settles when it has ended. */
  crash(): Promise<void>;
}

type Settings = Readonly<Record<string, unknown>>;

/** How Fanfare differs from one that is started without any of these. */
export interface FanfareOptions {
  /** Settings of the app. */
  readonly app?: Settings | undefined;
  /** Further apps, whole. */
  readonly otherApps?: readonly Settings[];
  /** Settings of Channels. */
  readonly channels?: Settings;
  /** Settings of push. */
  readonly push?: Settings;
  /** Realtime loops; without it, one, whatever the machine has. */
  readonly threads?: number;
  /** What it prints; without it, warnings too. */
  readonly logLevel?: 'warn' | 'error';
  /** With TLS, by these files. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /** What it shares with other servers of a cluster. */
  readonly shared?: { readonly redisUrl: string; readonly storeUrl: string } | undefined;
  /** Where the store is and stays. Without it, the store is new and temporary. */
  readonly folder?: string;
  /** The folder of another version to start, which gets the settings that it knows. Without it, this version. */
  readonly clone?: string | undefined;
}

export interface FanfareServer extends StartedServer {
  readonly pushPort: number;
  readonly adminPort: number;
  readonly storeFile: string;
  /** Settings that this version does not know. Without them, its figures may mean something else. */
  readonly settingsLeftOut: readonly string[];
}

/** Which of the two that are compared. */
export type Role = 'server' | 'floor';

/** A server that can be measured. Every start is a fresh one, except of a server found running. */
export interface Contender {
  readonly name: string;
  /** Settles when it accepts connections. `pin` is the command that pins it to its core, or empty. */
  start(pin: readonly string[], app?: Settings): Promise<RunningServer>;
}

/** `bench/floor.ts`. */
export const floor: Contender = {
  name: 'floor',
  start: (pin) => startFloor(pin, `${import.meta.dir}/floor.ts`),
};

/** Starts a program that takes its port as its argument. */
export async function startFloor(pin: readonly string[], file: string): Promise<StartedServer> {
  const port = freePort();
  return await startProcess([...pin, process.execPath, file, String(port)], port);
}

/** Fanfare as it is in this working tree, as an operator would start it. */
export const fanfare: Contender = {
  name: 'fanfare',
  start: (pin, app) => startFanfare(pin, { app }),
};

/** The same, with more settings. */
export async function startFanfare(
  pin: readonly string[],
  {
    app,
    otherApps = [],
    channels,
    push,
    tls,
    logLevel = 'warn',
    threads = 1,
    shared,
    folder,
    clone,
  }: FanfareOptions,
): Promise<FanfareServer> {
  await using parts = new AsyncDisposableStack();
  const place = folder ?? (await mkdtemp(join(tmpdir(), 'fanfare-bench-')));
  if (folder === undefined) parts.defer(() => rm(place, { recursive: true, force: true }));

  const [port, pushPort, adminPort] = [freePort(), freePort(), freePort()];
  const storeFile = storeFileOf(place);
  const { id, key, secret } = benchApp;
  const config = {
    channels: {
      host: '127.0.0.1',
      port,
      // One address makes all connections here.
      addressLimits: { connectionsPerSecond: 0 },
      // One connection sends what many would.
      framesPerSecond: 0,
      ...channels,
      apps: [{ id, name: 'bench', keys: [{ key, secret }], ...app }, ...otherApps],
    },
    realtime: { threads },
    push: { host: '127.0.0.1', port: pushPort, ...push },
    admin: { port: adminPort },
    ...(shared === undefined ? {} : { engine: { type: 'redis', url: shared.redisUrl } }),
    ...(tls === undefined ? {} : { tls }),
    store: { url: shared?.storeUrl ?? `sqlite:${storeFile}` },
    log: { level: logLevel, format: 'json' },
    drainSeconds: 0,
  };
  const file = join(place, 'fanfare.json');
  const { settings, leftOut } =
    clone === undefined ? { settings: config, leftOut: [] } : ofClone(config, clone);
  await writeFile(file, JSON.stringify(settings));
  const program = join(clone ?? `${import.meta.dir}/..`, 'bin/fanfare');
  const command = ['sh', program, 'serve', '--config', file];
  const running = parts.use(await startProcess([...pin, ...command], port));

  const started = parts.move();
  return {
    ...running,
    pushPort,
    adminPort,
    storeFile,
    settingsLeftOut: leftOut,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** What the version in a folder knows of these settings. */
function ofClone(config: object, clone: string): KnownSettings {
  // The second is where version 0.1.0 has the page.
  const pages = ['docs/reference/settings.md', 'docs/settings.md'].map((page) => join(clone, page));
  const page = pages.find(existsSync);
  if (page === undefined) throw new Error(`${clone} has no page of settings`);
  return knownSettings(config, readFileSync(page, 'utf8'));
}

/** The store of a server with this folder. */
export const storeFileOf = (folder: string): string => join(folder, 'fanfare.db');

/** A server that is already running, on any machine; it is left running. */
export function runningAt(app: AppAddress): Contender {
  return {
    name: `${app.host}:${app.port}`,
    start: async () => ({ app, pid: undefined, [Symbol.asyncDispose]: () => Promise.resolve() }),
  };
}

/** Starts a server that will listen on this port of the loopback interface; settles when it does. */
async function startProcess(command: string[], port: number): Promise<StartedServer> {
  const child = Bun.spawn(command, { stdio: ['ignore', 'ignore', 'inherit'] });
  const kill = () => child.kill();
  // For an end that unwinds nothing, such as Ctrl-C.
  process.once('exit', kill);

  await using parts = new AsyncDisposableStack();
  parts.defer(async () => {
    process.off('exit', kill);
    kill();
    const isStopped = await Promise.race([
      child.exited.then(() => true),
      sleep(STOPPED_WITHIN_MS, false, { ref: false }),
    ]);
    if (!isStopped) child.kill('SIGKILL');
    await child.exited;
  });

  const deadlineMs = performance.now() + READY_WITHIN_MS;
  while (!(await isListening(port))) {
    if (child.exitCode !== null) {
      throw new Error(`${command.join(' ')} ended with ${child.exitCode}`);
    }
    if (performance.now() > deadlineMs) throw new Error(`${command.join(' ')} is not listening`);
    await sleep(READY_CHECK_MS);
  }

  const started = parts.move();
  return {
    app: benchAppAt(port),
    pid: child.pid,
    async crash() {
      child.kill('SIGKILL');
      await child.exited;
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

async function isListening(port: number): Promise<boolean> {
  try {
    const socket = await Bun.connect({
      hostname: '127.0.0.1',
      port,
      socket: { data: () => undefined },
    });
    socket.end();
    return true;
  } catch {
    // Refused: it does not listen yet.
    return false;
  }
}

/** A port that was free a moment ago. */
function freePort(): number {
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: () => undefined },
  });
  const { port } = listener;
  listener.stop(true);
  return port;
}
