import type { Database } from '../../src/stores/database/database.ts';
import { markAccepted } from '../../src/stores/push/devices/mark-accepted.ts';

/** Makes an empty instance, and returns its number. */
export async function makeInstance(database: Database): Promise<number> {
  const [made]: { number: number | string }[] = await database.write(
    (sql) => sql`
      INSERT INTO instance_numbers (id, devices) VALUES (${crypto.randomUUID()}, 0)
      RETURNING number`,
  );
  return Number(made?.number);
}

/** Marks a device as accepted, as the result of a job does; `token`: instead of its own. */
export async function acceptDevice(
  database: Database,
  instance: number,
  id: string,
  token?: string,
): Promise<void> {
  const [row]: { number: number | string; token: string }[] = await database.read`
    SELECT number, token FROM devices WHERE id = ${id}`;
  if (row === undefined) return;
  const device = { device: Number(row.number), platform: 'fcm', userId: undefined } as const;
  const result = { what: 'accepted', firstToken: token ?? row.token, ...device } as const;
  const nowMs = Date.now();
  await database.write((sql, later) => markAccepted({ sql, later, instance, nowMs }, [result]));
}
