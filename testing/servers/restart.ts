import { join } from 'node:path';
import { behindTheSame, type Fanfare, spawnFanfare } from './fanfare.ts';

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
  const nodes = await Promise.all(server.nodes.map(startAgain));
  const [node] = nodes;
  return node !== undefined && nodes.length === 1 ? node : behindTheSame(server, nodes);
}

function startAgain({ directory, port }: Fanfare): Promise<Fanfare> {
  const config = join(directory, 'config.json');
  const environment = { FANFARE_CHANNELS_PORT: String(port) };
  return spawnFanfare(['serve', '--config', config], directory, environment);
}
