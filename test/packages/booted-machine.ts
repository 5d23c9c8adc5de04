import { readdirSync, readFileSync } from 'node:fs';
import { toEnd } from './unpacked-image.ts';

/** How long a small Debian takes to boot, in milliseconds, with much to spare. */
const BOOT_MAX_MS = 60_000;
const LOOK_AGAIN_MS = 100;

export interface Answer {
  readonly exitCode: number;
  readonly output: string;
}

/** A Debian with systemd as its first process, and with a network of its own. */
export interface BootedMachine extends AsyncDisposable {
  /** Runs a line of shell in it as root, and gives what it prints. */
  run(line: string): Answer;
  /** Runs a line until it succeeds. The last answer is in the error if it never does. */
  until(line: string): Promise<string>;
}

/** Makes a Debian in a folder from its packages. Only root can do that. */
export function makeMachine(root: string): void {
  if (process.getuid?.() !== 0) throw new Error('Only root can boot a machine');
  const include = 'systemd,systemd-sysv,adduser,procps';
  toEnd(['mmdebstrap', '--quiet', '--variant=minbase', `--include=${include}`, 'bookworm', root]);
}

export async function bootMachine(root: string): Promise<BootedMachine> {
  const nspawn = Bun.spawn(
    [
      ...['systemd-nspawn', '--directory', root, '--boot', '--quiet', '--register=no'],
      ...['--keep-unit', '--private-network', '--console=pipe', '--link-journal=no'],
    ],
    { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' },
  );
  let first: number | undefined;
  const run = (line: string): Answer => {
    first ??= firstChild(nspawn.pid);
    if (first === undefined) return { exitCode: 1, output: 'It has no process yet.' };
    const { exitCode, stdout, stderr } = Bun.spawnSync([
      ...['nsenter', '-t', String(first), '-m', '-u', '-i', '-p', '-n'],
      ...['sh', '-c', line],
    ]);
    return { exitCode, output: `${stdout}${stderr}`.trim() };
  };
  const until = async (line: string): Promise<string> => {
    const deadline = Date.now() + BOOT_MAX_MS;
    for (;;) {
      const { exitCode, output } = run(line);
      if (exitCode === 0) return output;
      if (Date.now() > deadline) throw new Error(`${line} never succeeded: ${output}`);
      await Bun.sleep(LOOK_AGAIN_MS);
    }
  };
  const machine = {
    run,
    until,
    async [Symbol.asyncDispose]() {
      run('systemctl poweroff');
      const stuck = setTimeout(() => nspawn.kill('SIGKILL'), BOOT_MAX_MS);
      await nspawn.exited;
      clearTimeout(stuck);
    },
  };
  await until('systemctl is-active multi-user.target');
  return machine;
}

/** The process that a process has started, from Linux's own list of all. */
function firstChild(parent: number): number | undefined {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .find((pid) => parentOf(pid) === parent);
}

function parentOf(pid: number): number | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return Number(fields[1]);
  } catch {
    return undefined;
  }
}
