import { readFileSync } from 'node:fs';

/** Where the kernel shows control groups. */
const CGROUPS = '/sys/fs/cgroup';

/** Reads a file; `undefined` if it cannot be read. */
export type ReadFile = (file: string) => string | undefined;

/** Which files exist depends on the version of control groups. */
export const readIfThere: ReadFile = (file) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
};

/**
 * Returns the folders of this process's control groups and of their parents, for one controller (`cpu`, `memory`). Each may
 * have a limit.
 */
export function groupsOf(read: ReadFile, controller: string): readonly string[] {
  const lines = (read('/proc/self/cgroup') ?? '').split('\n');
  return lines.flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) return [];
    // Version 2 has no controllers here. Where both versions are mounted, it is in its own folder.
    if (controllers === '') {
      return [...withParents(CGROUPS, path), ...withParents(`${CGROUPS}/unified`, path)];
    }
    if (!controllers.split(',').includes(controller)) return [];
    // A container sees its own group as the root, although the path may be that of the host.
    return [
      ...withParents(`${CGROUPS}/${controllers}`, path),
      ...withParents(`${CGROUPS}/${controller}`, path),
    ];
  });
}

function withParents(root: string, path: string): readonly string[] {
  const steps = path.split('/').filter((step) => step !== '');
  return [root, ...steps.map((_, index) => `${root}/${steps.slice(0, index + 1).join('/')}`)];
}
