import { readFileSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';

/** A mounted file system. */
export interface Mount {
  /** The directory or file where it begins. */
  readonly point: string;
  /** As the kernel calls it, for example `ext4`, `nfs4` or `fuse.sshfs`. */
  readonly type: string;
  readonly options: ReadonlySet<string>;
}

/** Reads `/proc/self/mountinfo`, in the order in which the file systems were mounted. Source: proc_pid_mountinfo(5). */
export function mountsIn(mountinfo: string): readonly Mount[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , , point = '', options = ''] = before.split(' ');
    const [type = '', , more = ''] = after.split(' ');
    if (point === '' || type === '') return [];
    return [
      {
        point: unescaped(point),
        type,
        options: new Set([...options.split(','), ...more.split(',')]),
      },
    ];
  });
}

/** What is mounted now; nothing on a system that does not say it: only Linux has this file. */
export function currentMounts(): readonly Mount[] {
  try {
    return mountsIn(readFileSync('/proc/self/mountinfo', 'utf8'));
  } catch {
    return [];
  }
}

/** White space and backslashes are octal escapes. */
function unescaped(path: string): string {
  const code = (_: string, octal: string) => String.fromCharCode(Number.parseInt(octal, 8));
  return path.replace(/\\([0-7]{3})/g, code);
}

/** The file system of an absolute path without symbolic links. */
export function mountOf(path: string, mounts: readonly Mount[]): Mount | undefined {
  const holds = ({ point }: Mount) =>
    path === point || path.startsWith(point.endsWith('/') ? point : `${point}/`);
  // Of several at one place, the last one hides the others.
  return mounts
    .filter(holds)
    .reduce<Mount | undefined>(
      (found, mount) =>
        found === undefined || mount.point.length >= found.point.length ? mount : found,
      undefined,
    );
}

/** The file system of the store in `file`, which need not exist yet; `undefined` if it is not known. */
export function mountOfStore(file: string, mounts = currentMounts()): Mount | undefined {
  for (let path = file; ; path = dirname(path)) {
    try {
      return mountOf(realpathSync(path), mounts);
    } catch {
      if (path === dirname(path)) return undefined;
    }
  }
}

/** Why a store in SQLite is in danger on a file system. */
export interface Danger {
  /** Whether two servers could not be kept apart, which is known to destroy stores. */
  readonly isRefused: boolean;
  /** Names the file system. */
  readonly why: string;
}

/** File systems of other machines, and those that a program serves, which may have its files anywhere. */
const NETWORK =
  /^(?:nfs|nfs4|cifs|smb3|smbfs|ceph|glusterfs|lustre|gpfs|beegfs|afs|coda|9p|virtiofs|vboxsf|prl_fs|fuse|fuse\..+)$/;

/** Served by a program, from a disk of this machine. */
const LOCAL: ReadonlySet<string> = new Set(['fuse.fuse-overlayfs', 'fuse.bindfs']);

/** Programs that keep locks to their machine, and send whole files at some later time. */
const WITHOUT_LOCKS =
  /^fuse\.(?:sshfs|s3fs|rclone|gcsfuse|goofys|blobfuse2?|mountpoint-s3|davfs|curlftpfs)$/;

/** Options by which a network file system keeps locks to this machine. Source: nfs(5), mount.cifs(8). */
const LOCAL_LOCKS = ['nolock', 'local_lock=all', 'local_lock=posix', 'nobrl'];

/**
 * Why SQLite should not keep a store on a file system; `undefined` if nothing speaks against it. SQLite's write-ahead log
 * needs memory that all its programs share, which machines do not have, and locks that reach all of them. Source: SQLite,
 * "Write-Ahead Logging" and "How To Corrupt An SQLite Database File".
 */
export function dangerOf({ type, options }: Mount): Danger | undefined {
  if (!isNetwork(type)) return undefined;
  const option = LOCAL_LOCKS.find((one) => options.has(one));
  if (option === undefined && !WITHOUT_LOCKS.test(type)) {
    return {
      isRefused: false,
      why: `its file system (${type}) may be shared with other machines, and SQLite is safe only while one machine uses the store`,
    };
  }
  const named = option === undefined ? type : `${type}, mounted with ${option}`;
  return {
    isRefused: true,
    why: `its file system (${named}) is shared with other machines and keeps locks to each of them, so a second server would destroy it`,
  };
}

/** Names the network file system of a store, to end an error of SQLite; empty if it is on none. */
export function networkNote(file: string, mounts = currentMounts()): string {
  const { type } = mountOfStore(file, mounts) ?? { type: '' };
  return isNetwork(type) ? ` (on the network file system ${type})` : '';
}

function isNetwork(type: string): boolean {
  return NETWORK.test(type) && !LOCAL.has(type);
}
