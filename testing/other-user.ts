import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A user without rights: `nobody`. */
export const OTHER_USER = 65_534;

/** A program that another user runs. */
export interface OtherUsersProgram extends Disposable {
  readonly command: readonly string[];
}

/**
 * Makes a program of a module and all that it imports, for tests that root runs. The other user need not be able to read
 * the clone, which may be in a folder of root alone: setpriv gives up the rights of root only as it starts Bun.
 */
export async function programOfOtherUser(module: string): Promise<OtherUsersProgram> {
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-other-user-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const entries = { entrypoints: [module], naming: { entry: 'program.js' } };
    await Bun.build({ ...entries, outdir: folder, target: 'bun', splitting: true });
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644);
    chmodSync(folder, 0o755);
  } catch (error) {
    remove();
    throw error;
  }
  const become = ['setpriv', `--reuid=${OTHER_USER}`, `--regid=${OTHER_USER}`, '--clear-groups'];
  return {
    command: [...become, process.execPath, join(folder, 'program.js')],
    [Symbol.dispose]: remove,
  };
}
