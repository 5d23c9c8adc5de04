import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import { type Database, openDatabase } from '../../../src/stores/database/database.ts';
import { type HourSum, HourUsageStore } from '../../../src/stores/tenants/hour-usage-store.ts';
import { databases, type EmptyStore } from '../../../testing/databases/databases.ts';

const sumOf = (appId: string, hour: number, more: Partial<HourSum> = {}): HourSum => ({
  appId,
  hour,
  messages: 0,
  clientMessages: 0,
  samples: 0,
  connections: 0,
  most: 0,
  fewest: 0,
  ...more,
});

const nothing = () => undefined;

describe.each(databases)('HourUsageStore on $name', ({ make }) => {
  let empty: EmptyStore;
  let database: Database;
  let store: HourUsageStore;
  beforeEach(async () => {
    empty = await make();
    database = await openDatabase(empty.url);
    store = new HourUsageStore(database);
  });
  afterEach(async () => {
    await database[Symbol.asyncDispose]();
    await empty[Symbol.asyncDispose]();
  });

  it('adds up what servers counted in the same hour', async () => {
    const first = { messages: 5_000_000_000, clientMessages: 2, samples: 2, connections: 30 };
    await store.add([sumOf('a', 7, { ...first, most: 20, fewest: 10 })], nothing);
    await store.add(
      [sumOf('a', 7, { messages: 1, samples: 1, connections: 5, most: 5, fewest: 5 })],
      nothing,
    );
    // Messages alone say nothing of connections.
    await store.add([sumOf('a', 7, { messages: 1 }), sumOf('b', 7, { messages: 9 })], nothing);
    await store.addSamples([{ hour: 7, samples: 2 }]);
    await store.addSamples([{ hour: 7, samples: 3 }]);
    expect(await store.ofApp('a', 0)).toEqual({
      sums: [
        sumOf('a', 7, {
          messages: 5_000_000_002,
          clientMessages: 2,
          samples: 3,
          connections: 35,
          most: 20,
          fewest: 5,
        }),
      ],
      samples: [{ hour: 7, samples: 5 }],
    });
  });

  it('takes the fewest connections from samples only', async () => {
    await store.add([sumOf('a', 7, { messages: 1 })], nothing);
    await store.add([sumOf('a', 7, { samples: 1, connections: 4, most: 4, fewest: 4 })], nothing);
    const { sums } = await store.ofApp('a', 7);
    expect(sums).toMatchObject([{ fewest: 4, most: 4 }]);
  });

  it('returns which sums it has written, and forgets old hours piece by piece', async () => {
    const apps = Array.from({ length: 450 }, (_, n) => sumOf(`app ${n}`, n % 2, { messages: 1 }));
    let written = 0;
    await store.add(apps, (piece) => {
      written += piece.length;
    });
    expect(written).toBe(450);
    await store.addSamples([
      { hour: 0, samples: 1 },
      { hour: 1, samples: 1 },
    ]);
    expect(await store.forgetSomeBefore(1)).toBe(true);
    expect(await store.forgetSomeBefore(1)).toBe(false);
    expect((await store.ofApp('app 0', 0)).sums).toEqual([]);
    expect((await store.ofApp('app 1', 0)).sums).toHaveLength(1);
    expect((await store.ofApp('app 0', 0)).samples).toEqual([{ hour: 1, samples: 1 }]);
  });

  it('loses no concurrent addition', async () => {
    const both = [sumOf('b', 1, { messages: 1 }), sumOf('a', 1, { messages: 1 })];
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => store.add(n % 2 ? both : both.toReversed(), nothing)),
    );
    expect((await store.ofApp('a', 0)).sums).toMatchObject([{ messages: 20 }]);
  });
});
