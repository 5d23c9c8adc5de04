import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { availableBytes } from '../../machine/kernel-memory.ts';
import { letGoFirst } from '../../machine/priority.ts';
import { UsageError } from '../../options.ts';
import { whole } from '../../report.ts';
import { BOTH_ENDS_BYTES, KEPT_FREE_BYTES } from '../size.ts';
import type { MeasuredMillion } from './figures.ts';

const ROOT = join(import.meta.dir, '../../..');
const PROGRAM = 'linux.uml';
/** Of the guest beside connections: its kernel, the two processes, the file system in memory. */
const GUEST_BYTES = 2 ** 30;
const MEBIBYTE = 2 ** 20;
/** It ends whatever happens. */
const WITHIN_MS = 45 * 60_000;
/** By then, it has begun a session of its own. */
const OWN_SESSION_MS = 1000;

/**
 * Runs the same in user-mode Linux: a kernel that is a process. It sees the files of this machine, and has memory,
 * sockets and limits of its own. There its root may raise the limit of open files, which that of a container may not.
 */
export async function inUserModeLinux(
  connections: number,
  dollarsPerCoreHour: number | undefined,
): Promise<MeasuredMillion> {
  if (Bun.which(PROGRAM) === null) {
    throw new UsageError(`--in-uml needs ${PROGRAM}: apt-get install user-mode-linux`);
  }
  const needed = connections * BOTH_ENDS_BYTES + GUEST_BYTES;
  const free = availableBytes() - KEPT_FREE_BYTES;
  if (needed > free) {
    throw new UsageError(
      `--in-uml: ${whole(connections)} connections take ${whole(needed / MEBIBYTE)} MiB, and ${whole(free / MEBIBYTE)} MiB are available beside the 4 GiB that stay free`,
    );
  }
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-uml-'));
  try {
    const result = join(folder, 'result.json');
    const init = join(folder, 'init');
    writeFileSync(init, initScript(connections, dollarsPerCoreHour, result));
    chmodSync(init, 0o700);
    await boot(init, needed + KEPT_FREE_BYTES);
    if (!existsSync(result)) throw new Error('the run in user-mode Linux has failed');
    return JSON.parse(readFileSync(result, 'utf8'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The first process of the guest. Its last command turns the guest off. */
function initScript(
  connections: number,
  dollarsPerCoreHour: number | undefined,
  result: string,
): string {
  const dollars =
    dollarsPerCoreHour === undefined ? '' : ` --dollars-per-core-hour ${dollarsPerCoreHour}`;
  const turnOff =
    'require("bun:ffi").dlopen("libc.so.6",{reboot:{args:["i32"],returns:"i32"}}).symbols.reboot(0x4321fedc)';
  return `#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/run TMPDIR=/run
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
ip link set lo up
echo 4000000 >/proc/sys/fs/nr_open
cd ${quoted(ROOT)}
sh scripts/bun.sh bench/run.ts million --connections ${connections}${dollars} --json ${quoted(result)}
sh scripts/bun.sh -e '${turnOff}'
`;
}

const quoted = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`;

async function boot(init: string, bytes: number): Promise<void> {
  const guest = Bun.spawn(
    [
      PROGRAM,
      `mem=${Math.ceil(bytes / MEBIBYTE)}M`,
      'rootfstype=hostfs',
      'rootflags=/',
      'rw',
      'quiet',
      'con=null',
      'con0=null,fd:1',
      `init=${init}`,
    ],
    { stdio: ['ignore', 'inherit', 'ignore'] },
  );
  const kill = () => guest.kill();
  process.once('exit', kill);
  const timers = [
    setTimeout(kill, WITHIN_MS),
    setTimeout(() => letGoFirst(guest.pid), OWN_SESSION_MS),
  ];
  await guest.exited;
  timers.forEach(clearTimeout);
  process.off('exit', kill);
}
