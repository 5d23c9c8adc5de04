import { chmodSync, mkdirSync, mkdtempSync, readdirSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tarOf } from './archive.ts';
import { buildBinary, type Target } from './binary.ts';
import { ROOT } from './bundle.ts';
import { commitOf, commitTime, tagOf, versionOf } from './commit.ts';
import { requireProgram, run } from './run.ts';

/** OCI's names of the targets. */
const ARCHITECTURES: readonly (readonly [Target, string])[] = [
  ['linux-x64', 'amd64'],
  ['linux-arm64', 'arm64'],
];

/** Makes the container images as OCI archives, with buildah. Nothing is pulled, and no program of the image runs. */
export async function packImages(out: string): Promise<readonly string[]> {
  requireProgram('buildah', 'buildah');
  const archives: string[] = [];
  for (const [target, architecture] of ARCHITECTURES) {
    archives.push(await packImage({ target, architecture, out }));
  }
  return archives;
}

interface One {
  readonly target: Target;
  readonly architecture: string;
  readonly out: string;
}

async function packImage({ target, architecture, out }: One): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-image-'));
  try {
    const files = join(folder, 'files');
    run(['sh', join(ROOT, 'packaging/container/rootfs.sh'), architecture, files], { cwd: folder });
    const program = join(files, 'program/fanfare');
    mkdirSync(join(files, 'program'));
    renameSync(await buildBinary(target, folder), program);
    chmodSync(program, 0o755);
    const layout = buildLayout({ folder, files, architecture });
    const archive = join(out, `fanfare-${versionOf(ROOT)}-image-${architecture}.tar`);
    await Bun.write(archive, await tarOf(layout, readdirSync(layout).sort()));
    return archive;
  } finally {
    remove(folder);
  }
}

/** Without root rights, buildah's files belong to other users of a namespace, in which alone they can be removed. */
function remove(folder: string): void {
  const command = ['rm', '-rf', folder];
  const isRoot = process.getuid?.() === 0;
  run(isRoot ? command : ['buildah', 'unshare', ...command], { cwd: tmpdir() });
}

interface Built {
  readonly folder: string;
  readonly files: string;
  readonly architecture: string;
}

/** Runs the Containerfile on prepared files. Returns the folder with the image in OCI's layout. */
function buildLayout({ folder, files, architecture }: Built): string {
  const version = versionOf(ROOT);
  const context = join(folder, 'context');
  const layout = join(folder, 'layout');
  mkdirSync(context);
  const store = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run')];
  const buildah = ['buildah', ...store, '--storage-driver', 'vfs'];
  const name = `localhost/fanfare:${tagOf(version)}-${architecture}`;
  run(
    [
      ...buildah,
      'bud',
      '--isolation=chroot',
      '--format=oci',
      `--platform=linux/${architecture}`,
      // Takes the place of the stage with this name, so its base is not pulled.
      `--build-context=files=${files}`,
      `--timestamp=${commitTime(ROOT)}`,
      `--build-arg=TARGETARCH=${architecture}`,
      `--build-arg=VERSION=${version}`,
      `--build-arg=COMMIT=${commitOf(ROOT) ?? 'unknown'}`,
      `--file=${join(ROOT, 'packaging/container/Containerfile')}`,
      `--tag=${name}`,
      context,
    ],
    { cwd: folder },
  );
  run([...buildah, 'push', '--quiet', name, `oci:${layout}:localhost/fanfare:${tagOf(version)}`], {
    cwd: folder,
  });
  return layout;
}
