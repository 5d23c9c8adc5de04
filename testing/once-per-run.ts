import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** How long the other processes wait for the first one. Milliseconds. */
const START_MAX_MS = 120_000;

/**
 * Starts something that all processes of a test run share, and returns its port. The first process starts it, in a folder of
 * that name in the folder of the run. `npm test` makes that one, and afterwards ends what runs there. `undefined`
 * without such a folder.
 */
export async function oncePerRun(
  name: string,
  start: (folder: string) => Promise<number>,
): Promise<number | undefined> {
  const run = process.env['TEST_RUN_FOLDER'];
  if (run === undefined) return undefined;
  const folder = join(run, name);
  const portFile = join(run, `${name}-port`);
  if (isFirst(folder)) {
    const port = await start(folder);
    writeFileSync(`${portFile}.new`, String(port));
    renameSync(`${portFile}.new`, portFile);
    return port;
  }
  const deadlineMs = performance.now() + START_MAX_MS;
  while (!existsSync(portFile)) {
    if (performance.now() > deadlineMs) throw new Error(`Nothing was started in ${folder}`);
    await Bun.sleep(20);
  }
  return Number(readFileSync(portFile, 'utf8'));
}

/** Whether this process has made the folder, and not another one before. */
function isFirst(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}
