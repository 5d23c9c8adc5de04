import { describe, expect, it } from 'bun:test';
import { openDatabase } from '../../database/database.ts';
import { StoredAudience } from './audience-source.ts';

const HELLO = { instance: 1, kind: 'interests', name: 'hello', after: 0 } as const;

/** The number of turns of the loop until a promise has settled. */
async function turnsUntil(settled: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isSettled = false;
  const end = () => {
    isSettled = true;
  };
  void settled.then(end, end);
  while (!isSettled) {
    await new Promise((resolve) => setImmediate(resolve));
    turns += 1;
  }
  return turns;
}

describe('reading audiences from SQLite', () => {
  it('reads several small ones in a turn of the loop, and yields to other work', async () => {
    await using database = await openDatabase('sqlite::memory:');
    const audience = new StoredAudience(database);
    const read = () => audience.numbers({ ...HELLO, limit: 100 });
    const turns = await turnsUntil(Promise.all(Array.from({ length: 200 }, read)));
    expect(turns).toBeGreaterThanOrEqual(5);
    expect(turns).toBeLessThanOrEqual(40);
  });

  it('reads a large part in a turn of its own', async () => {
    await using database = await openDatabase('sqlite::memory:');
    const rows = Array.from({ length: 1_000 }, (_, device) => ({
      device,
      instance: 1,
      interest: 'hello',
    }));
    await database.write((sql) => sql`INSERT INTO device_interests ${sql(rows)}`);
    const audience = new StoredAudience(database);
    const read = () => audience.numbers({ ...HELLO, limit: 1_000 });
    const turns = await turnsUntil(Promise.all(Array.from({ length: 10 }, read)));
    expect(turns).toBeGreaterThanOrEqual(9);
  });

  it('continues after a query that failed', async () => {
    await using database = await openDatabase('sqlite::memory:');
    const audience = new StoredAudience(database);
    const failed = audience.numbers({ ...HELLO, limit: Number.NaN });
    const after = audience.numbers({ ...HELLO, limit: 100 });
    await expect(failed).rejects.toThrow();
    expect(await after).toEqual([]);
  });
});
