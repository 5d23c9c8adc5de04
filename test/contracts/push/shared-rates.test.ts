import { describe, expect, it } from 'bun:test';
import { openDatabase } from '../../../src/stores/database/database.ts';
import { StoredRates } from '../../../src/stores/push/shared-rates.ts';
import { databases } from '../../../testing/databases/databases.ts';

const HOUR_MS = 3_600_000;

describe.each(databases)('what servers have taken of shared rates in $name', ({ make }) => {
  it('is summed for each server, shown to the others, and forgotten after a while', async () => {
    await using place = await make();
    await using database = await openDatabase(place.url);
    const [one, two] = [new StoredRates(database), new StoredRates(database)];
    const taken = (instance: number, tokens: number) => ({ kind: 'publishes', instance, tokens });
    await one.add([taken(1, 5), taken(2, 7)], HOUR_MS);
    await one.add([taken(1, 10)], HOUR_MS);
    await two.add([taken(1, 100), { ...taken(1, 3), kind: 'rows' }], HOUR_MS);
    expect(await two.takenElsewhere([1, 3])).toMatchObject([taken(1, 15)]);
    const seen = await one.takenElsewhere([1, 2]);
    expect(seen.map(({ kind, tokens }) => `${kind} ${tokens}`).toSorted()).toEqual([
      'publishes 100',
      'rows 3',
    ]);
    await new StoredRates(database).add([taken(2, 1)], 2 * HOUR_MS);
    expect(await one.takenElsewhere([1, 2])).toMatchObject([taken(2, 1)]);
  });
});
