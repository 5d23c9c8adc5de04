import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../servers/free-port.ts';
import { untilItAccepts } from '../servers/redis.ts';

type PoolMode = 'session' | 'transaction' | 'statement';

/** A PgBouncer in front of a cluster of PostgreSQL. */
export interface PgBouncer extends AsyncDisposable {
  /** The address of a database through it. */
  pooled(url: string): string;
  /** Kills it, and starts it again on the same port. */
  restart(): Promise<void>;
}

/** Starts a PgBouncer in front of the cluster at `url`, with these lines more in its configuration. */
export async function startPgBouncer(
  url: string,
  mode: PoolMode,
  more: readonly string[] = [],
): Promise<PgBouncer> {
  const { hostname, port: clusterPort, username } = new URL(url);
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-pgbouncer-'));
  const file = join(folder, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${clusterPort} user=${username}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    // The path of a socket has at most 107 bytes.
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
    ...more,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'postgres'] : [];
  const start = async () => {
    const child = Bun.spawn([PROGRAM, ...user, file], { stdout: 'ignore', stderr: 'ignore' });
    await untilItAccepts(port, () => child.exitCode !== null);
    return child;
  };
  let running = await start();
  const kill = async () => {
    running.kill('SIGKILL');
    await running.exited;
  };
  return {
    pooled: (database) => database.replace(`:${clusterPort}/`, `:${port}/`),
    async restart() {
      await kill();
      running = await start();
    },
    async [Symbol.asyncDispose]() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Debian keeps it where only root looks for programs. */
const PROGRAM = Bun.which('pgbouncer') ?? '/usr/sbin/pgbouncer';
