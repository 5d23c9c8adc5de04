import { dlopen, FFIType, ptr } from 'bun:ffi';
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from './run.ts';

/** Enough for PostgreSQL, whose log of writes takes 80 MB. Takes no more of the real disk than is written. */
const MEGABYTES = 400;

/** Source: `ext4.h` of Linux. The second one means: without writing what the journal still holds. */
const SHUTDOWN = 0x8004587d;
const WITHOUT_LOG_FLUSH = 2;

/** The programs that a disk needs. */
export const DISK_PROGRAMS = ['mkfs.ext4', 'mount', 'umount', 'sync', 'cp'] as const;

/** Begins the name of the folder of a disk, before the process that made it. */
const NAME = 'fanfare-disk-';

/**
 * A file system of a test's own, ext4 on a loop device, whose power can be cut and which can be full. Its folder has the id of this process in
 * its name, so that a later run removes it if this one is killed.
 */
export class OwnDisk implements Disposable {
  /** Where it is mounted. */
  readonly folder: string;
  private readonly parent: string;
  private image: string;
  private copies = 0;

  private constructor(megabytes: number) {
    this.parent = mkdtempSync(join(tmpdir(), `${NAME}${process.pid}-`));
    chmodSync(this.parent, 0o755);
    this.image = join(this.parent, 'image');
    this.folder = join(this.parent, 'mounted');
    writeFileSync(this.image, '');
    truncateSync(this.image, megabytes * 2 ** 20);
    mkdirSync(this.folder);
  }

  /** Throws if this machine lets nobody mount a file. */
  static make(megabytes = MEGABYTES): OwnDisk {
    removeLeftDisks();
    const disk = new OwnDisk(megabytes);
    try {
      // Nothing is kept for root, who would otherwise not meet a full disk.
      run('mkfs.ext4', '-q', '-F', '-m', '0', disk.image);
      disk.mount();
    } catch (error) {
      rmSync(disk.parent, { recursive: true, force: true });
      throw error;
    }
    return disk;
  }

  /** Writes everything to the disk. */
  sync(): void {
    run('sync', '-f', this.folder);
  }

  /**
   * Ends every use of the disk, and loses what was not synced. Nothing can be written or read until `remount`. Linux lets an `fsync` that runs at
   * this moment succeed although it has written nothing (6.18, also of a plain file): what a server answers from now on may be lost.
   */
  cutPower(): void {
    const { symbols, close } = dlopen('libc.so.6', {
      ioctl: { args: [FFIType.i32, FFIType.u64, FFIType.ptr], returns: FFIType.i32 },
    });
    const descriptor = openSync(this.folder, 'r');
    try {
      const how = new Uint32Array([WITHOUT_LOG_FLUSH]);
      if (symbols.ioctl(descriptor, SHUTDOWN, ptr(how)) !== 0) {
        throw new Error(`the file system at ${this.folder} cannot be shut down`);
      }
    } finally {
      closeSync(descriptor);
      close();
    }
  }

  /** Mounts what is on the disk, as after a power failure. The file system repairs itself. */
  remount(): void {
    // Another program may have copied the mounts of this machine into a namespace of its own, and then keeps the file system
    // that was shut down. So a copy of the disk is mounted, which has what had been written to it.
    const copy = join(this.parent, `image-${++this.copies}`);
    run('cp', '--sparse=always', this.image, copy);
    run('umount', '--lazy', this.folder);
    rmSync(this.image);
    this.image = copy;
    this.mount();
  }

  /** Fills it to the last block. */
  fill(): void {
    for (let bytes = 2 ** 20; bytes >= 1; bytes = Math.floor(bytes / 2)) {
      this.fillBy(Buffer.alloc(bytes));
    }
  }

  /** Removes what fills it. */
  free(): void {
    for (const name of readdirSync(this.folder)) {
      if (name.startsWith('filler-')) rmSync(join(this.folder, name));
    }
  }

  [Symbol.dispose](): void {
    removeDisk(this.parent, this.folder);
  }

  private fillBy(block: Buffer): void {
    const descriptor = openSync(join(this.folder, `filler-${block.length}`), 'a');
    try {
      for (;;) writeSync(descriptor, block);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(descriptor);
    }
  }

  private mount(): void {
    run('mount', '-o', 'loop', this.image, this.folder);
    chmodSync(this.folder, 0o755);
  }
}

/** Why this machine has no disk for a test; `undefined` if it has. */
export function whyNoDisk(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can mount a file system';
  try {
    using _ = OwnDisk.make(SMALL_MEGABYTES);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const SMALL_MEGABYTES = 16;

/** Removes the disks of processes that were killed, and ends what still uses them. */
function removeLeftDisks(): void {
  for (const line of readFileSync('/proc/mounts', 'utf8').split('\n')) {
    const [, folder = ''] = line.split(' ');
    const [, parent, pid] = new RegExp(`^(.*/${NAME}(\\d+)-[^/]+)/mounted$`).exec(folder) ?? [];
    if (parent === undefined || isRunning(Number(pid))) continue;
    removeDisk(parent, folder);
  }
}

function removeDisk(parent: string, folder: string): void {
  endThoseIn(folder);
  // Lazily: what still ends keeps it for a moment.
  run('umount', '--lazy', folder);
  rmSync(parent, { recursive: true, force: true });
}

/** Kills the programs that work in a folder. */
function endThoseIn(folder: string): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const place = readlinkSync(`/proc/${pid}/cwd`);
      if (place === folder || place.startsWith(`${folder}/`)) process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** A process that was killed has no command any more, also while nobody has asked for its end. */
function isRunning(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';
  } catch {
    return false;
  }
}
