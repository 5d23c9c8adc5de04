import type { Log } from '../../../runtime/ports.ts';
import { sqliteFileOf } from '../../../stores/database/database.ts';
import { StoreUnavailable } from '../../../stores/database/faults.ts';
import { currentMounts, dangerOf, mountOfStore } from '../../../stores/database/file-system.ts';

const ADVICE = 'Move it to a disk of this machine, or use PostgreSQL (store.url: postgres://…)';

export interface ExamineDiskOptions {
  readonly log: Pick<Log, 'warn'>;
  /** The mounts, by default those of this process. */
  readonly mounts?: ReturnType<typeof currentMounts>;
}

/**
 * Warns if the store at `url` is a file that other machines may see too. Throws `StoreUnavailable` where nothing would keep
 * their servers away from it.
 */
export function examineDisk(
  url: string,
  { log, mounts = currentMounts() }: ExamineDiskOptions,
): void {
  const file = sqliteFileOf(url);
  if (file === undefined || file === ':memory:') return;
  const mount = mountOfStore(file, mounts);
  const danger = mount === undefined ? undefined : dangerOf(mount);
  if (danger === undefined) return;
  if (danger.isRefused) throw new StoreUnavailable(`The store ${url}: ${danger.why}. ${ADVICE}`);
  log.warn('The store is not on a disk of this machine', { why: danger.why, advice: ADVICE });
}
