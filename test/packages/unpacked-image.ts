import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type Fanfare, spawnProgram } from '../../testing/servers/fanfare.ts';

const IMAGE_CONFIG = z.object({
  architecture: z.string(),
  os: z.string(),
  config: z.object({
    User: z.string(),
    ExposedPorts: z.record(z.string(), z.unknown()),
    Env: z.array(z.string()),
    Entrypoint: z.array(z.string()),
    Cmd: z.array(z.string()),
    Volumes: z.record(z.string(), z.unknown()),
    WorkingDir: z.string(),
    Labels: z.record(z.string(), z.string()),
    StopSignal: z.string(),
  }),
});
const DIGEST = z.object({ digest: z.string() });
const INDEX = z.object({ manifests: z.tuple([DIGEST]) });
const MANIFEST = z.object({ config: DIGEST, layers: z.array(DIGEST) });

/** An image in a folder: what its configuration says, and its root. */
export interface UnpackedImage {
  readonly image: z.infer<typeof IMAGE_CONFIG>;
  readonly root: string;
}

/** Unpacks an OCI archive, with the owners of its files: only root can do that. */
export function unpackImage(archive: string, folder: string): UnpackedImage {
  if (process.getuid?.() !== 0) throw new Error('Only root can unpack an image with its owners');
  const layout = join(folder, 'layout');
  const root = join(folder, 'root');
  for (const made of [layout, root]) mkdirSync(made, { recursive: true });
  toEnd(['tar', '-xf', archive, '-C', layout]);
  const blob = ({ digest }: z.infer<typeof DIGEST>) =>
    join(layout, 'blobs', digest.replace(':', '/'));
  const json = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));
  const { manifests } = INDEX.parse(json(join(layout, 'index.json')));
  const { config, layers } = MANIFEST.parse(json(blob(manifests[0])));
  for (const layer of layers) toEnd(['tar', '-xzpf', blob(layer), '-C', root]);
  return { image: IMAGE_CONFIG.parse(json(blob(config))), root };
}

/** Runs a program to its end, and returns what it prints. */
export function toEnd(command: readonly string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command]);
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed: ${stderr}`);
  return stdout.toString();
}

/** Mounts what a container has. Only the volume can be written to. */
const ENTER = `set -e
root=$1; shift
mount --bind "$root" "$root"
mount --bind "$root/data" "$root/data"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -o remount,bind,ro "$root"
exec env -i "$@"`;

/** A server in a container. */
export interface Contained extends AsyncDisposable {
  readonly server: Fanfare;
  /** Its process, as seen from outside of the container. */
  readonly pid: number;
  /** Runs another program in the container. */
  exec(args: readonly string[]): { readonly exitCode: number; readonly output: string };
}

interface ContainedOptions {
  readonly environment: Readonly<Record<string, string>>;
  /** The ids of a user and a group, in place of those of the image. */
  readonly user?: string;
  /** A program of this machine that runs those of the image. It must lie in the root of the image. */
  readonly emulator?: string;
}

/**
 * Starts an image as a container runtime does: its own root, which cannot be written to, and its own processes, of which the server
 * is the first, with the user, the environment and the command of the image. The network is that of this machine.
 */
export async function runImage(
  { image, root }: UnpackedImage,
  { environment, user, emulator }: ContainedOptions,
): Promise<Contained> {
  const { Env, Entrypoint, Cmd, WorkingDir } = image.config;
  const runs = user ?? image.config.User;
  if (WorkingDir !== '/') throw new Error(`chroot begins in /, not in ${WorkingDir}`);
  const variables = [...Env, ...Object.entries(environment).map((pair) => pair.join('='))];
  const emulated = emulator === undefined ? [] : [emulator];
  const chroot = ['/usr/sbin/chroot', `--userspec=${runs}`, '--groups=', root, ...emulated];
  const server = await spawnProgram(
    [
      ...['unshare', '--mount', '--pid', '--fork', '--kill-child'],
      ...['sh', '-c', ENTER, 'enter', root],
      ...[...variables, ...chroot, ...Entrypoint, ...Cmd],
    ],
    root,
    {},
  );
  const outer = server.process.pid;
  const children = readFileSync(`/proc/${outer}/task/${outer}/children`, 'utf8').trim();
  const pid = Number(children);
  const [uid = '', gid = ''] = runs.split(':');
  return {
    server,
    pid,
    exec(args) {
      const enter = ['nsenter', `--target=${pid}`, '--mount', '--pid', '--root', '--wd'];
      const as = [`--setuid=${uid}`, `--setgid=${gid}`];
      const { exitCode, stdout, stderr } = Bun.spawnSync([
        'env',
        '-i',
        ...variables,
        '/usr/bin/nsenter',
        ...enter.slice(1),
        ...as,
        ...emulated,
        ...args,
      ]);
      return { exitCode, output: `${stdout}${stderr}` };
    },
    async [Symbol.asyncDispose]() {
      if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL');
      await server.process.exited;
    },
  };
}
