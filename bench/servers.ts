import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AppAddress, benchApp, benchAppAt } from './bench-app.ts';

const READY_WITHIN_MS = 15_000;
const STOPPED_WITHIN_MS = 5_000;

/** A server to measure, up and ready. */
export interface RunningServer extends AsyncDisposable {
  readonly app: AppAddress;
  /** Nothing where it was running already. */
  readonly pid: number | undefined;
}

/** What a server is started with besides what all are, where it has such settings. */
export interface ServerSettings {
  /** Of the app. */
  readonly app?: Readonly<Record<string, unknown>> | undefined;
  /** Of the whole server. */
  readonly server?: Readonly<Record<string, unknown>> | undefined;
}

/** Which of the two that are compared. */
export type Role = 'server' | 'floor';

/** A server that can be measured. Every start is a fresh one, except of a server found running. */
export interface Contender {
  readonly name: string;
  /** Settles when it takes connections. `pin` is the command that holds it to its core, or empty. */
  start(pin: readonly string[], settings?: ServerSettings): Promise<RunningServer>;
}

/** `bench/floor.ts`. */
export const floor: Contender = {
  name: 'floor',
  async start(pin) {
    const port = freePort();
    return await startProcess(
      [...pin, process.execPath, `${import.meta.dir}/floor.ts`, String(port)],
      port,
    );
  },
};

/** Fanfare as it is in this working tree, as an operator would start it. */
export const fanfare: Contender = {
  name: 'fanfare',
  start: (pin, settings) => startFanfare(pin, settings?.app, settings?.server),
};

/** The same, with more settings of its app and of its own, and with the port for its operator. */
export async function startFanfare(
  pin: readonly string[],
  app: Readonly<Record<string, unknown>> = {},
  server: Readonly<Record<string, unknown>> = {},
): Promise<RunningServer & { readonly adminPort: number }> {
  await using parts = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'fanfare-bench-'));
  parts.defer(() => rm(folder, { recursive: true, force: true }));

  const [port, adminPort] = [freePort(), freePort()];
  const config = join(folder, 'fanfare.json');
  await writeFile(
    config,
    JSON.stringify({ ...fanfareConfig(port, adminPort, folder, app), ...server }),
  );
  const command = ['sh', `${import.meta.dir}/../bin/fanfare`, 'serve', '--config', config];
  const running = parts.use(await startProcess([...pin, ...command], port));

  const started = parts.move();
  return {
    app: running.app,
    pid: running.pid,
    adminPort,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** A server that is running already, wherever it is and whoever made it; it is left running. */
export function runningAt(app: AppAddress): Contender {
  return {
    name: `${app.host}:${app.port}`,
    start: async () => ({ app, pid: undefined, [Symbol.asyncDispose]: () => Promise.resolve() }),
  };
}

function fanfareConfig(
  port: number,
  adminPort: number,
  folder: string,
  app: Readonly<Record<string, unknown>>,
): object {
  const { id, key, secret } = benchApp;
  return {
    channels: {
      host: '127.0.0.1',
      port,
      // One address makes all connections here.
      addressLimits: { connectionsPerSecond: 0 },
      apps: [{ id, name: 'bench', keys: [{ key, secret }], ...app }],
    },
    push: { port: 0 },
    admin: { port: adminPort },
    store: { url: `sqlite:${join(folder, 'fanfare.db')}` },
    log: { level: 'warn', format: 'json' },
    drainSeconds: 0,
  };
}

/** Starts a server that will listen on this port of the loopback interface; settles when it does. */
export async function startProcess(command: string[], port: number): Promise<RunningServer> {
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
    await sleep(50);
  }

  const started = parts.move();
  return {
    app: benchAppAt(port),
    pid: child.pid,
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
    // Refused: not listening yet, which is what was asked.
    return false;
  }
}

/** A port that nobody listened on a moment ago. */
export function freePort(): number {
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: () => undefined },
  });
  const { port } = listener;
  listener.stop(true);
  return port;
}
