import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, startProcess } from '../../servers.ts';
import { benchInstances } from './bench-instances.ts';

/** A server under load, up and ready. */
export interface AcceptingServer extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
  /** Where it keeps what it has accepted; nothing where it keeps nothing. */
  readonly storeFile: string | undefined;
  /** Ends it at once, as a crash does, and settles when it is gone. */
  crash(): Promise<void>;
}

/** A server that can be measured. Every start is a fresh one. */
export interface Contender {
  readonly name: string;
  /** `pin` is the command that holds it to its core, or empty. */
  start(pin: readonly string[]): Promise<AcceptingServer>;
}

/** `bench/push/accept/floor.ts`. */
export const floor: Contender = {
  name: 'floor',
  start(pin) {
    const port = freePort();
    const command = [process.execPath, join(import.meta.dir, 'floor.ts'), String(port)];
    return startServer([...pin, ...command], port, undefined);
  },
};

/** Fanfare as it is in this working tree, as an operator would start it, with a fresh store. */
export const fanfare: Contender = {
  name: 'fanfare',
  async start(pin) {
    await using parts = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'fanfare-accept-'));
    parts.defer(() => rm(folder, { recursive: true, force: true }));
    const port = freePort();
    const storeFile = join(folder, 'fanfare.db');
    const config = join(folder, 'fanfare.json');
    await writeFile(config, JSON.stringify(fanfareConfig(port, storeFile)));
    const script = join(import.meta.dir, '../../../bin/fanfare');
    const server = parts.use(
      await startServer([...pin, 'sh', script, 'serve', '--config', config], port, storeFile),
    );
    const started = parts.move();
    return { ...server, [Symbol.asyncDispose]: () => started.disposeAsync() };
  },
};

/** All of it comes from one address. */
const NO_ADDRESS_LIMITS = {
  connectionsPerSecond: 0,
  requestsPerSecond: 0,
  rowsPerSecond: 0,
  reportsPerSecond: 0,
};

function fanfareConfig(port: number, storeFile: string): object {
  const instances = benchInstances.map(({ id, secretKey }) => ({
    id,
    secretKeys: [secretKey],
    limits: { publishesPerSecond: 0 },
  }));
  return {
    channels: { host: '127.0.0.1', port: 0 },
    push: { host: '127.0.0.1', port, instances, addressLimits: NO_ADDRESS_LIMITS },
    admin: { port: 0 },
    store: { url: `sqlite:${storeFile}` },
    log: { level: 'warn', format: 'json' },
    drainSeconds: 0,
  };
}

async function startServer(
  command: string[],
  port: number,
  storeFile: string | undefined,
): Promise<AcceptingServer> {
  const running = await startProcess(command, port);
  const { pid } = running;
  if (pid === undefined) throw new Error('a process that was started has a pid');
  const stop = () => running[Symbol.asyncDispose]();
  return {
    port,
    pid,
    storeFile,
    async crash() {
      process.kill(pid, 'SIGKILL');
      await stop();
    },
    [Symbol.asyncDispose]: stop,
  };
}
