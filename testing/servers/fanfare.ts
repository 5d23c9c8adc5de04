import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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
  /** The number of realtime threads; the default is the environment variable `TEST_THREADS`, or 1. */
  readonly threads?: number | 'auto';
}

/** A real server, in a process of its own. */
export interface Fanfare extends AsyncDisposable {
  readonly port: number;
  readonly pushPort: number;
  readonly adminPort: number;
  /** The password of the admin API, if the server has made it; `undefined` if it is configured. */
  readonly adminPassword: string | undefined;
  readonly process: Bun.Subprocess;
  /** Its working directory. */
  readonly directory: string;
  /** What it has printed so far, and logged so far. */
  readonly output: { stdout: string; stderr: string };
  /** Settles with the first line of the log, past or to come, that matches. */
  logged(pattern: RegExp): Promise<string>;
  /** Settles with the first matching line that is logged after this call. */
  logsNext(pattern: RegExp): Promise<string>;
  /** Sends a signal and gives the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number>;
}

const ROOT = join(import.meta.dir, '../..');

/** How many realtime threads a test server has that is not started with another number. */
export const THREADS = Number(process.env['TEST_THREADS'] ?? 1);

/** Milliseconds after which a server that does not start is a failure. */
const START_MAX_MS = 45_000;

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
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-test-'));
  const file = join(directory, 'config.json');
  writeFileSync(file, JSON.stringify(configOf(directory, options)));
  const server = await spawnFanfare(
    ['serve', '--config', file],
    directory,
    { ...threadsIn(options.threads), ...options.environment },
    options.program,
    options.openFilesMax,
  );
  const end = server[Symbol.asyncDispose];
  return Object.assign(server, {
    async [Symbol.asyncDispose]() {
      await end();
      rmSync(directory, { recursive: true, force: true });
    },
  });
}

/** The environment of a server with as many realtime threads. */
function threadsIn(threads: string | number | undefined): Readonly<Record<string, string>> {
  return threads === undefined ? {} : { FANFARE_REALTIME_THREADS: String(threads) };
}

/** Starts `fanfare` with any arguments in a directory, and waits until it listens. */
export async function spawnFanfare(
  args: readonly string[],
  directory: string,
  environment: Readonly<Record<string, string>> = {},
  program = join(ROOT, 'src/main.ts'),
  openFilesMax?: number,
): Promise<Fanfare> {
  const limited =
    openFilesMax === undefined
      ? []
      : ['sh', '-c', `ulimit -n ${openFilesMax} && exec "$@"`, 'fanfare'];
  const process_ = Bun.spawn([...limited, process.execPath, program, ...args], {
    cwd: directory,
    env: { ...process.env, ...threadsIn(THREADS), ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const output = { stdout: '', stderr: '' };
  const changed = new EventTarget();
  const collect = async (stream: ReadableStream<Uint8Array>, name: 'stdout' | 'stderr') => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      output[name] += decoder.decode(bytes, { stream: true });
      changed.dispatchEvent(new Event('change'));
    }
    changed.dispatchEvent(new Event('change'));
  };
  void collect(process_.stdout, 'stdout');
  void collect(process_.stderr, 'stderr');

  const until = <T>(look: () => T | undefined, what: string): Promise<T> =>
    new Promise((resolve, reject) => {
      const check = () => {
        const found = look();
        const runs = process_.exitCode === null && process_.signalCode === null;
        if (found === undefined && runs) return;
        clearTimeout(timer);
        changed.removeEventListener('change', check);
        if (found !== undefined) resolve(found);
        else {
          const ended = process_.signalCode ?? `exit code ${process_.exitCode}`;
          const printed = output.stdout + output.stderr;
          reject(new Error(`The server ended (${ended}) before ${what}: ${printed}`));
        }
      };
      const timer = setTimeout(() => {
        reject(new Error(`The server never ${what}: ${output.stdout}${output.stderr}`));
      }, START_MAX_MS);
      changed.addEventListener('change', check);
      process_.exited.then(check);
      check();
    });
  const lineSince = (start: number, pattern: RegExp) => {
    let unread = start;
    return until(() => {
      const lines = output.stderr.slice(unread).split('\n');
      // The last line may be incomplete, so it is read again.
      unread = Math.max(start, output.stderr.lastIndexOf('\n') + 1);
      return lines.find((line) => pattern.test(line));
    }, `logged ${pattern}`);
  };
  const portOf = (name: string) => {
    const match = new RegExp(`^${name} +https?://.*:(\\d+) `, 'm').exec(output.stdout);
    return match === null ? undefined : Number(match[1]);
  };

  const port = await until(() => portOf('Channels'), 'listened');
  const pushPort = await until(() => portOf('Push'), 'listened');
  const adminPort = await until(() => portOf('Admin'), 'listened');
  return {
    port,
    pushPort,
    adminPort,
    get adminPassword() {
      return keptAdminPassword(directory);
    },
    process: process_,
    directory,
    output,
    logged: (pattern) => lineSince(0, pattern),
    logsNext: (pattern) => lineSince(output.stderr.length, pattern),
    async stop(signal = 'SIGTERM') {
      process_.kill(signal);
      return await process_.exited;
    },
    async [Symbol.asyncDispose]() {
      process_.kill('SIGKILL');
      await process_.exited;
    },
  };
}
