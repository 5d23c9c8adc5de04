import { readFileSync, type Stats, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import type { EnvironmentVariables } from '../environment/variables.ts';

/** The caller, as far as permissions of files depend on it. */
export interface FileUser {
  /** The caller, and who called `sudo`. */
  readonly ids: readonly number[];
  /** The group of the caller that has no other member; `undefined` if there is none. */
  readonly privateGroup: number | undefined;
}

/** What is wrong with the file or directory at `path`. */
export interface FileProblem {
  readonly path: string;
  readonly message: string;
}

/** Permission bits: the group may write, everybody may write. */
const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;

/** The id of the user root, and of its group. */
const ROOT = 0;

/**
 * Finds out whether another user may have chosen a configuration that was found and not named. It decides which store a
 * command reads, and which server gets its password. So, as git and ssh require, the file and its directory must belong
 * to root or the caller, and nobody else may write to them.
 */
export function chosenByOthers(file: string, user: FileUser | undefined): FileProblem | undefined {
  if (user === undefined) return undefined;
  for (const path of [dirname(file), file]) {
    const why = whoElseWrites(statSync(path), user);
    if (why === undefined) continue;
    const owners = ['root', ...user.ids.filter((id) => id !== ROOT).map((id) => `user ${id}`)];
    const rule = `A configuration that is not named counts only if it and its directory belong to ${owners.join(' or ')}, and nobody else may write to them`;
    return { path, message: `${why}. ${rule}. Change that, or name the file with --config` };
  }
  return undefined;
}

/** Says who else may write to a file or directory; `undefined`: nobody. */
export function whoElseWrites(
  { uid, gid, mode }: Pick<Stats, 'uid' | 'gid' | 'mode'>,
  { ids, privateGroup }: FileUser,
): string | undefined {
  const octal = `mode ${(mode & 0o7777).toString(8).padStart(4, '0')}`;
  if (uid !== ROOT && !ids.includes(uid)) return `belongs to user ${uid} (${octal})`;
  if ((mode & OTHERS_WRITE) !== 0) return `every user may write to it (${octal})`;
  const isShared = (mode & GROUP_WRITES) !== 0 && gid !== ROOT && gid !== privateGroup;
  return isShared ? `the group ${gid} may write to it (${octal})` : undefined;
}

/** The caller of this program; `undefined` on systems without owners of files. */
export function fileUser(environment: EnvironmentVariables): FileUser | undefined {
  const id = process.geteuid?.();
  if (id === undefined) return undefined;
  const sudoId = environment['SUDO_UID'] ?? '';
  return {
    ids: id === ROOT && /^\d+$/.test(sudoId) ? [id, Number(sudoId)] : [id],
    // Read only if it matters, which is rare.
    get privateGroup() {
      return privateGroupIn(readGroups(), callersName());
    },
  };
}

/**
 * The group with the name of the user and no other member. Many systems make one for each user, and let it write to
 * all of the user's files.
 */
export function privateGroupIn(groups: string, user: string | undefined): number | undefined {
  for (const line of groups.split('\n')) {
    const [name, , gid, members = ''] = line.split(':');
    if (name !== user || user === undefined) continue;
    const isPrivate = members.split(',').every((member) => member === '' || member === user);
    return isPrivate ? Number(gid) : undefined;
  }
  return undefined;
}

function readGroups(): string {
  try {
    return readFileSync('/etc/group', 'utf8');
  } catch {
    // Without the file, no group is known to be private.
    return '';
  }
}

function callersName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    // Containers often run as a user without a name.
    return undefined;
  }
}
