import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import packageJson from '../package.json';
import { buildBinary, type Target } from './binary.ts';
import { ROOT } from './bundle.ts';
import { commitTime, debianVersionOf, versionOf } from './commit.ts';
import { copyDocuments } from './documents.ts';
import { manualPage } from './man-page.ts';
import { requireProgram, run } from './run.ts';

/** Debian's names of the targets. */
const ARCHITECTURES: readonly (readonly [Target, string])[] = [
  ['linux-x64', 'amd64'],
  ['linux-arm64', 'arm64'],
];

/** Where files of the repository lie on the machine, and who may do what with them. */
const FILES: readonly (readonly [string, string, number])[] = [
  ['packaging/systemd/fanfare.service', 'lib/systemd/system/fanfare.service', 0o644],
  ['packaging/etc/fanfare.yaml', 'etc/fanfare/fanfare.yaml', 0o640],
  ['LICENSE', 'usr/share/doc/fanfare/copyright', 0o644],
  ['packaging/debian/lintian-overrides', 'usr/share/lintian/overrides/fanfare', 0o644],
  ['packaging/debian/conffiles', 'DEBIAN/conffiles', 0o644],
  ['packaging/debian/postinst', 'DEBIAN/postinst', 0o755],
  ['packaging/debian/prerm', 'DEBIAN/prerm', 0o755],
  ['packaging/debian/postrm', 'DEBIAN/postrm', 0o755],
];

/** Makes the Debian packages. `dpkg-deb` packs them, which every Debian has. */
export async function packDebian(out: string): Promise<readonly string[]> {
  requireProgram('dpkg-deb', 'dpkg');
  const packages: string[] = [];
  for (const [target, architecture] of ARCHITECTURES) {
    packages.push(await packOne({ target, architecture, out }));
  }
  return packages;
}

interface One {
  readonly target: Target;
  readonly architecture: string;
  readonly out: string;
}

async function packOne({ target, architecture, out }: One): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-debian-'));
  try {
    const content = join(folder, 'content');
    for (const [from, to] of FILES) {
      mkdirSync(dirname(join(content, to)), { recursive: true });
      cpSync(join(ROOT, from), join(content, to));
    }
    copyDocuments(join(content, 'usr/share/doc/fanfare'));
    mkdirSync(join(content, 'usr/bin'), { recursive: true });
    cpSync(await buildBinary(target, folder), join(content, 'usr/bin/fanfare'));
    const version = debianVersionOf(versionOf(ROOT));
    const control = await Bun.file(join(ROOT, 'packaging/debian/control')).text();
    const compressed = {
      'usr/share/doc/fanfare/changelog.gz': changelogOf(control),
      'usr/share/man/man1/fanfare.1.gz': manualPage(),
    };
    for (const [to, text] of Object.entries(compressed)) {
      await Bun.write(join(content, to), Bun.gzipSync(text, { level: 9 }));
    }
    await Bun.write(
      join(content, 'DEBIAN/control'),
      control
        .replace('VERSION', version)
        .replace('ARCHITECTURE', architecture)
        .replace('INSTALLED_SIZE', String(Math.ceil(sizeOf(content) / 1024))),
    );
    writeFileSync(join(content, 'DEBIAN/md5sums'), md5sums(content));
    const file = join(out, `fanfare_${version}_${architecture}.deb`);
    // The times of all files are that of the commit. xz would save a fifth of the size, and take ten times as long.
    const time = String(commitTime(ROOT));
    run(['chmod', '-R', 'u=rwX,go=rX', content], { cwd: folder });
    for (const [, to, mode] of FILES) chmodSync(join(content, to), mode);
    run(['dpkg-deb', '--root-owner-group', '-Zgzip', '-z9', '--build', content, file], {
      cwd: folder,
      environment: { SOURCE_DATE_EPOCH: time },
    });
    return file;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The sums by which `dpkg --verify` finds changed files. Those of the configuration are the operator's. Source: deb-md5sums(5). */
export function md5sums(content: string): string {
  const conffiles = readFileSync(join(content, 'DEBIAN/conffiles'), 'utf8').split('\n');
  return filesIn(content)
    .filter((name) => !name.startsWith('DEBIAN/') && !conffiles.includes(`/${name}`))
    .sort()
    .map((name) => {
      const sum = createHash('md5').update(readFileSync(join(content, name)));
      return `${sum.digest('hex')}  ${name}\n`;
    })
    .join('');
}

/** Debian's own changelog. Source: Debian Policy 4.4. */
function changelogOf(control: string): string {
  const maintainer = /^Maintainer: (.*)$/m.exec(control)?.[1];
  const date = new Date(commitTime(ROOT) * 1_000).toUTCString().replace('GMT', '+0000');
  return [
    `fanfare (${debianVersionOf(versionOf(ROOT))}) stable; urgency=medium`,
    '',
    `  * See ${packageJson.homepage.replace(/#.*$/, '')}/blob/main/CHANGELOG.md.`,
    '',
    ` -- ${maintainer}  ${date}`,
    '',
  ].join('\n');
}

function sizeOf(folder: string): number {
  return filesIn(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

function filesIn(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => statSync(join(folder, name)).isFile());
}
