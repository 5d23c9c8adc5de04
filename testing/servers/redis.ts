import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { oncePerRun } from '../once-per-run.ts';
import { freePort } from './free-port.ts';

/** A Redis server of one test. It keeps nothing on disk. */
export interface OwnRedis extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** The folder of the server, for files that its options name. */
  readonly folder: string;
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
  /** Kills it. What it held is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same port, without data. */
  start(): Promise<void>;
}

const START_MAX_MS = 60_000;

/** Starts Redis on a free port. `options` are those of the command line, such as `['--maxmemory', '50mb']`. */
export async function startRedis(
  options: readonly string[] = [],
  tls?: RedisTlsFiles,
): Promise<OwnRedis> {
  const port = await freePort();
  const secure = tls === undefined ? [] : tlsSettings(port, tls);
  const more = secure.flatMap(([name, value]) => [`--${name}`, value]);
  return await startRedisProcess({ port, command: [...commandOf(port), ...more, ...options] });
}

/** The files of a Redis that speaks TLS only, and wants a certificate of its clients. */
export interface RedisTlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** The authorities of its clients. */
  readonly caFile: string;
}

/** The settings of a server or sentinel that speaks TLS only. Its own connections use the same certificate. */
function tlsSettings(
  port: number,
  { certFile, keyFile, caFile }: RedisTlsFiles,
): readonly (readonly [string, string])[] {
  return [
    ['port', '0'],
    ['tls-port', String(port)],
    ['tls-cert-file', certFile],
    ['tls-key-file', keyFile],
    ['tls-ca-cert-file', caFile],
    ['tls-auth-clients', 'yes'],
    ['tls-replication', 'yes'],
  ];
}

let shared: Promise<string> | undefined;

/** Returns the URL of the Redis that all processes of a test run share. Without such a run, it ends with this process. */
export function sharedRedis(): Promise<string> {
  shared ??= startShared();
  return shared;
}

async function startShared(): Promise<string> {
  const port = await oncePerRun('redis', async (folder) => {
    const port = await freePort();
    // In the background, because this process may end before others that use it.
    const background = ['--daemonize', 'yes', '--pidfile', join(folder, 'pid')];
    Bun.spawnSync([...commandOf(port), ...background], { cwd: folder });
    await untilItAccepts(port, () => false);
    return port;
  });
  return port === undefined ? (await startRedis()).url : `redis://127.0.0.1:${port}`;
}

function commandOf(port: number): readonly string[] {
  const options = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  return ['redis-server', '--port', String(port), ...options];
}

/** Starts a sentinel that watches a server under the name `main`. `lines` are added to its configuration. */
export async function startSentinel(
  primaryPort: number,
  lines: readonly string[] = [],
  tls?: RedisTlsFiles,
): Promise<OwnRedis> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-sentinel-'));
  const file = join(folder, 'sentinel.conf');
  await Bun.write(
    file,
    [
      `port ${port}`,
      'bind 127.0.0.1',
      `sentinel monitor main 127.0.0.1 ${primaryPort} 1`,
      'sentinel down-after-milliseconds main 500',
      'sentinel failover-timeout main 3000',
      ...lines,
      ...(tls === undefined ? [] : tlsSettings(port, tls)).map((words) => words.join(' ')),
    ].join('\n'),
  );
  return await startRedisProcess({ port, folder, command: ['redis-server', file, '--sentinel'] });
}

interface ProcessOptions {
  readonly port: number;
  readonly command: readonly string[];
  readonly folder?: string;
}

async function startRedisProcess({
  port,
  command,
  folder = mkdtempSync(join(tmpdir(), 'fanfare-redis-')),
}: ProcessOptions): Promise<OwnRedis> {
  let child = await startChild(port, command, folder).catch((error) => {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  });
  return {
    port,
    folder,
    url: `redis://127.0.0.1:${port}`,
    signal: (name) => child.kill(name),
    async kill() {
      child.kill('SIGKILL');
      await child.exited;
    },
    async start() {
      child = await startChild(port, command, folder);
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startChild(port: number, command: readonly string[], folder: string) {
  // The kernel ends it with the process of the tests, also if that is killed.
  const guard = Bun.which('setpriv') === null ? [] : ['setpriv', '--pdeathsig', 'KILL'];
  const child = Bun.spawn([...guard, ...command], {
    cwd: folder,
    stdout: 'pipe',
    stderr: 'inherit',
    // Ctrl-C is for the process that uses it, which may need it to stop.
    detached: true,
  });
  try {
    await untilItAccepts(port, () => child.exitCode !== null || child.signalCode !== null);
  } catch (cause) {
    throw new Error(`Redis did not start: ${await new Response(child.stdout).text()}`, { cause });
  }
  return child;
}

/** Settles when a port of 127.0.0.1 accepts connections. */
export async function untilItAccepts(port: number, isOver: () => boolean): Promise<void> {
  const startedAtMs = performance.now();
  while (!(await doesAccept(port))) {
    if (isOver() || performance.now() - startedAtMs > START_MAX_MS) {
      throw new Error(`Nothing listens on port ${port}`);
    }
    await Bun.sleep(20);
  }
}

function doesAccept(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}
