import { join } from 'node:path';
import { runTask } from '../machine/run-task.ts';
import type { Bench } from '../scenario.ts';
import type { Role, RunningServer } from '../servers.ts';
import type { LoadResults, LoadTask } from './load.ts';

/** Starts a server and has a load process of its own do one task with it. */
export async function loadFreshServer<Name extends LoadTask['name']>(
  bench: Bench,
  role: Role,
  taskFor: (server: RunningServer) => LoadTask & { readonly name: Name },
): Promise<LoadResults[Name]> {
  const { pinning } = bench;
  await using server = await bench[role].start(pinning.server);
  return await runTask(pinning.load, join(import.meta.dir, 'load.ts'), taskFor(server));
}
