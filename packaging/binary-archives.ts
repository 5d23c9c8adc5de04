import { chmodSync, cpSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tarOf } from './archive.ts';
import { buildBinary, type Target } from './binary.ts';
import { ROOT } from './bundle.ts';
import { versionOf } from './commit.ts';
import { copyDocuments } from './documents.ts';

/** The targets of releases. */
const SHIPPED: readonly Target[] = ['linux-x64', 'linux-arm64'];

/** What lies beside the binary in its archive. */
const BESIDE = ['LICENSE', 'packaging/systemd/fanfare.service', 'packaging/etc/fanfare.yaml'];

/** Makes an archive of the binary for each target, and puts the installer beside them. */
export async function packBinaries(out: string): Promise<readonly string[]> {
  const archives: string[] = [];
  for (const target of SHIPPED) archives.push(await packBinary(target, out));
  const installer = join(out, 'install.sh');
  cpSync(join(ROOT, 'packaging/install.sh'), installer);
  chmodSync(installer, 0o755);
  return [...archives, installer];
}

async function packBinary(target: Target, out: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-binary-'));
  try {
    const name = `fanfare-${versionOf(ROOT)}-${target}`;
    const content = join(folder, name);
    mkdirSync(content);
    renameSync(await buildBinary(target, folder), join(content, 'fanfare'));
    for (const file of BESIDE) cpSync(join(ROOT, file), join(content, file.replace(/^.*\//, '')));
    copyDocuments(content);
    const archive = join(out, `${name}.tar.gz`);
    await Bun.write(archive, Bun.gzipSync(await tarOf(folder, [name]), { level: 9 }));
    return archive;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
