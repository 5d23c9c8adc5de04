import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '../..');

/** A version that was released, and the commit that it was made from. */
export interface Release {
  readonly version: string;
  readonly commit: string;
}

/** The releases in the changelog, the oldest first: by their tags, or by the last commit of the day that the changelog names. Throws if the clone lacks one. */
export async function releases(): Promise<readonly Release[]> {
  const changelog = await Bun.file(join(ROOT, 'CHANGELOG.md')).text();
  const entries = [...changelog.matchAll(/^## (\d+\.\d+\.\d+) — (\d{4}-\d\d-\d\d)$/gm)];
  return entries.toReversed().map(([, version = '', date = '']) => {
    const tagged = git('rev-parse', '--verify', '--quiet', `v${version}^{commit}`);
    const commit = tagged ?? git('rev-list', '-1', `--before=${date}T23:59:59Z`, 'HEAD');
    const itsPackage = git('show', `${commit}:package.json`) ?? '{}';
    if (!commit || JSON.parse(itsPackage).version !== version) {
      throw new Error(`this clone has no commit of ${version}`);
    }
    return { version, commit };
  });
}

/** The source of a release in a folder of its own, until it is disposed. */
export interface ReleaseSource extends Disposable {
  readonly folder: string;
}

/** Writes the source of a release out of git. It gets the packages of this clone, which takes no network and no time. */
export function writeSource({ version, commit }: Release): ReleaseSource {
  const folder = mkdtempSync(join(tmpdir(), `fanfare-${version}-`));
  const remove = () => rmSync(folder, { recursive: true });
  const command = ['git', 'archive', commit, 'src', 'sdk', 'package.json', 'tsconfig.json'];
  const archive = Bun.spawnSync(command, { cwd: ROOT });
  const { success } = Bun.spawnSync(['tar', 'xf', '-', '-C', folder], { stdin: archive.stdout });
  if (!archive.success || !success) {
    remove();
    throw new Error(`no source of ${version}`);
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return { folder, [Symbol.dispose]: remove };
}

/** What git prints; `undefined` if it fails. */
function git(...args: readonly string[]): string | undefined {
  const { success, stdout } = Bun.spawnSync(['git', ...args], { cwd: ROOT, stderr: 'ignore' });
  return success ? stdout.toString().trim() : undefined;
}
