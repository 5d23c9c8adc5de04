import { readdirSync, readFileSync } from 'node:fs';
import { eventually } from '../../testing/eventually.ts';
import { toEnd } from './unpacked-image.ts';

/** What the machine has beside the least of Debian. */
const PACKAGES = 'systemd,systemd-sysv,adduser,procps';

/** Nothing of this machine's environment. */
const ENVIRONMENT = {
  PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  DEBIAN_FRONTEND: 'noninteractive',
  LC_ALL: 'C',
};

export interface Ran {
  readonly exitCode: number;
  /** What it printed to both outputs. */
  readonly output: string;
}

/** Unpacks a Debian system into a folder that is not there yet. */
export function makeMachine(root: string): void {
  if (process.getuid?.() !== 0) throw new Error('Only root can make a machine');
  toEnd(['mmdebstrap', '--quiet', '--variant=minbase', `--include=${PACKAGES}`, 'bookworm', root]);
}

/** Runs a program in a machine that is switched off. */
export function inChroot(root: string, command: readonly string[]): Ran {
  return ran(['/usr/sbin/chroot', root, ...command]);
}

/** A machine that is switched on: with its own init, processes, users, and a network without a way out. */
export interface Machine extends AsyncDisposable {
  /** Runs a program as root. */
  run(command: readonly string[]): Ran;
}

/** Boots a machine, and waits until all of its services have started. */
export async function bootMachine(root: string): Promise<Machine> {
  const nspawn = Bun.spawn(
    [
      ...['systemd-nspawn', '--quiet', '-D', root, '--boot', '--register=no', '--keep-unit'],
      ...['--private-network', '--console=pipe', '--link-journal=no'],
    ],
    { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' },
  );
  const init = await eventually(
    () => {
      if (nspawn.exitCode !== null) throw new Error(`systemd-nspawn ended: ${nspawn.exitCode}`);
      return childrenOf(nspawn.pid).find((pid) => commandOf(pid) === 'systemd');
    },
    (pid) => pid !== undefined,
  );
  const namespaces = ['--mount', '--uts', '--ipc', '--pid', '--net'];
  const run = (command: readonly string[]) =>
    ran(['nsenter', `--target=${init}`, ...namespaces, ...command]);
  await eventually(
    () => run(['systemctl', 'is-system-running']).output.trim(),
    (state) => state === 'running',
  );
  return {
    run,
    async [Symbol.asyncDispose]() {
      // All of the machine ends with its init.
      process.kill(Number(init), 'SIGKILL');
      await nspawn.exited;
    },
  };
}

function ran(command: readonly string[]): Ran {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { env: ENVIRONMENT });
  return { exitCode, output: `${stdout}${stderr}` };
}

function childrenOf(pid: number): readonly string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim().split(' '),
  );
}

function commandOf(pid: string): string {
  return pid === '' ? '' : readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
}
