import { join } from 'node:path';
import { behindTheSame, type Fanfare, spawnFanfare } from './fanfare.ts';

/** How often a port is tried that somebody else has: most are the near ends of short connections. */
const TRIES = 30;
const BETWEEN_TRIES_MS = 200;

/**
 * Stops a server that `startFanfare` started, and starts it again with the same configuration on the same
 * port: with SIGTERM as an operator does, with SIGKILL as if it had crashed.
 */
export async function restart(
  server: Fanfare,
  signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM',
): Promise<Fanfare> {
  const exitCode = await server.stop(signal);
  if (signal === 'SIGTERM' && exitCode !== 0) {
    throw new Error(`Exit code ${exitCode}: ${server.output.stderr}`);
  }
  const nodes = await Promise.all(server.nodes.map((node) => startAgain(node)));
  const [node] = nodes;
  return node !== undefined && nodes.length === 1 ? node : behindTheSame(server, nodes);
}

interface Again {
  readonly environment?: Readonly<Record<string, string>>;
  /** Starts it: as the present program by default. */
  readonly spawn?: typeof spawnFanfare;
  readonly tries?: number;
}

/** Starts a server that has ended with the configuration and the port that it had. */
export async function startAgain(
  { directory, port }: Pick<Fanfare, 'directory' | 'port'>,
  { environment = {}, spawn = spawnFanfare, tries = TRIES }: Again = {},
): Promise<Fanfare> {
  const config = join(directory, 'config.json');
  const samePort = { ...environment, FANFARE_CHANNELS_PORT: String(port) };
  try {
    return await spawn(['serve', '--config', config], directory, samePort);
  } catch (error) {
    if (tries === 1 || !String(error).includes('is in use by another program')) throw error;
    await Bun.sleep(BETWEEN_TRIES_MS);
    return await startAgain({ directory, port }, { environment, spawn, tries: tries - 1 });
  }
}
