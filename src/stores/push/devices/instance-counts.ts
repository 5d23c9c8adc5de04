import type { SQL } from 'bun';
import { StoreLost } from '../../../push/store-faults.ts';
import type { Batch, Later } from '../../database/write-queue.ts';

/** What an instance has. */
export interface InstanceCounts {
  /** Registered devices. */
  readonly devices: number;
  /** Those among them whose token a gateway has accepted at least once. */
  readonly accepted: number;
  /** Interests of its devices, each counted for each device. Those of removed devices count until their rows are gone. */
  readonly interests: number;
}

interface CountChange extends Partial<InstanceCounts> {
  readonly instance: number;
  /** Whether the commit must fail where the instance is gone: what it adds would be nobody's. */
  readonly isRequired?: boolean;
}

/** All changes of a commit are added at once for each instance, because everybody writes to these rows. */
const countChanges: Batch<CountChange> = {
  async run(sql, items) {
    const byInstance = Map.groupBy(items, ({ instance }) => instance);
    // In one order everywhere, so that two servers never wait for each other's rows in a circle.
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

/** Counts what a change adds to an instance or takes from it, at the end of the commit. */
export function count(later: Later, change: CountChange): void {
  later(countChanges, change);
}

/** Reads what an instance has; nothing where the store does not know it. */
export async function readCounts(sql: SQL, instance: number): Promise<InstanceCounts> {
  const [row]: Readonly<Record<keyof InstanceCounts, number | string>>[] = await sql`
    SELECT devices, accepted, interests FROM instance_numbers WHERE number = ${instance}`;
  return {
    devices: Number(row?.devices ?? 0),
    accepted: Number(row?.accepted ?? 0),
    interests: Number(row?.interests ?? 0),
  };
}
