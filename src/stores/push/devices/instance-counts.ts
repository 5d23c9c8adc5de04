import type { SQL } from 'bun';
import { StoreLost } from '../../../push/store-faults.ts';
import type { BigInteger } from '../../database/rows.ts';
import type { CommitBatch, Later } from '../../database/write-queue.ts';

/** What is counted of an instance. */
export interface InstanceCounts {
  /** Registered devices. */
  readonly devices: number;
  /** Devices whose token a gateway has accepted at least once. */
  readonly accepted: number;
  /** The sum of its devices' interests. Those of removed devices count until their rows are deleted. */
  readonly interests: number;
}

interface CountChange extends Partial<InstanceCounts> {
  readonly instance: number;
  /** Whether the commit fails if the instance was deleted, because its new rows would belong to no instance. */
  readonly isRequired?: boolean;
}

/** One statement for each instance and commit, because all commits write to these rows. */
const countChanges: CommitBatch<CountChange> = {
  async run(sql, items) {
    const byInstance = Map.groupBy(items, ({ instance }) => instance);
    // By number, so that two servers never deadlock.
    for (const [instance, changes] of [...byInstance].sort(([a], [b]) => a - b)) {
      const sum = (name: keyof InstanceCounts) =>
        changes.reduce((total, change) => total + (change[name] ?? 0), 0);
      const { count } = await sql`
        UPDATE instance_numbers SET devices = devices + ${sum('devices')},
          accepted = accepted + ${sum('accepted')}, interests = interests + ${sum('interests')}
        WHERE number = ${instance}`;
      if (count === 0 && changes.some(({ isRequired }) => isRequired)) {
        throw new StoreLost('the store has lost the instance');
      }
    }
  },
};

/** Adds to the counts of an instance at the end of the commit. */
export function count(later: Later, change: CountChange): void {
  later(countChanges, change);
}

/** Reads the counts of an instance; all 0 if it is unknown. */
export async function readCounts(sql: SQL, instance: number): Promise<InstanceCounts> {
  const [row]: Readonly<Record<keyof InstanceCounts, BigInteger>>[] = await sql`
    SELECT devices, accepted, interests FROM instance_numbers WHERE number = ${instance}`;
  return {
    devices: Number(row?.devices ?? 0),
    accepted: Number(row?.accepted ?? 0),
    interests: Number(row?.interests ?? 0),
  };
}
