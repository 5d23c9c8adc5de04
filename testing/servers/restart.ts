import { join } from 'node:path';
import { type Fanfare, spawnFanfare } from './fanfare.ts';

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
  return await spawnFanfare(
    ['serve', '--config', join(server.directory, 'config.json')],
    server.directory,
    { FANFARE_CHANNELS_PORT: String(server.port) },
  );
}
