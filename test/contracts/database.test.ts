import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { SQL } from 'bun';
import fc from 'fast-check';
import packageJson from '../../package.json';
import { type Database, openDatabase, shownStore } from '../../src/stores/database/database.ts';
import { StoreUnavailable } from '../../src/stores/database/faults.ts';
import { migrations } from '../../src/stores/database/migrations.ts';
import type { CommitBatch } from '../../src/stores/database/write-queue.ts';
import { type EmptyStore, newStores, sqliteFile } from '../../testing/databases/databases.ts';
import { newStorePostgres, throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { testSeed } from '../../testing/long-run.ts';

fc.configureGlobal({ seed: testSeed() });

/** The revision of a row that only this file uses. */
const make = (database: Database, what: string, revision = 0) =>
  database.write(
    (sql) => sql`INSERT INTO revisions (what, revision) VALUES (${what}, ${revision})`,
  );

async function names(database: Database): Promise<readonly string[]> {
  const rows: { what: string }[] = await database.read`
    SELECT what FROM revisions WHERE what LIKE 'test %' ORDER BY what`;
  return rows.map(({ what }) => what.slice('test '.length));
}

for (const kind of newStores) {
  describe(`the database on ${kind.name}`, () => {
    let store: EmptyStore;
    let database: Database;
    beforeEach(async () => {
      store = await kind.make();
      database = await openDatabase(store.url);
    });
    afterEach(async () => {
      await database[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    });

    /** Closes and reopens it. */
    async function again(): Promise<void> {
      await database[Symbol.asyncDispose]();
      database = await openDatabase(store.url);
    }

    it('stores what was written, and returns what the change returned', async () => {
      expect(await database.write(async () => 'an answer')).toBe('an answer');
      await make(database, 'test a');
      await again();
      expect(await names(database)).toEqual(['a']);
    });

    it('makes all of a change or nothing', async () => {
      const failing = database.write(async (sql) => {
        await sql`INSERT INTO revisions (what, revision) VALUES ('test a', 0)`;
        await sql`INSERT INTO revisions (what, revision) VALUES ('apps', 0)`;
      });
      await expect(failing).rejects.toThrow();
      const thrown = database.write(async (sql) => {
        await sql`INSERT INTO revisions (what, revision) VALUES ('test b', 0)`;
        throw new Error('changed my mind');
      });
      await expect(thrown).rejects.toThrow('changed my mind');
      expect(await names(database)).toEqual([]);
    });

    it('makes valid changes, even if others in the same commit fail', async () => {
      const wanted = Array.from({ length: 40 }, (_, index) => `test ${index % 30}`);
      const settled = await Promise.allSettled(wanted.map((what) => make(database, what)));
      expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(30);
      expect(await names(database)).toHaveLength(30);
    });

    it('loses no increment, with many concurrent changes', async () => {
      await make(database, 'test count');
      const counted = await Promise.all(
        Array.from({ length: 100 }, () =>
          database.write(async (sql) => {
            const rows: { revision: number | string }[] = await sql`
              UPDATE revisions SET revision = revision + 1 WHERE what = 'test count' RETURNING revision`;
            return Number(rows[0]?.revision);
          }),
        ),
      );
      expect(counted.toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: 100 }, (_, index) => index + 1),
      );
    });

    it('hides uncommitted data', async () => {
      const written = Promise.withResolvers<void>();
      const read = Promise.withResolvers<void>();
      const change = database.write(async (sql) => {
        await sql`INSERT INTO revisions (what, revision) VALUES ('test a', 0)`;
        written.resolve();
        await read.promise;
      });
      await written.promise;
      expect(await names(database)).toEqual([]);
      read.resolve();
      await change;
      expect(await names(database)).toEqual(['a']);
    });

    it('runs a batch once for each commit, within it', async () => {
      const ran: number[] = [];
      const batch: CommitBatch<string> = {
        async run(sql, items) {
          ran.push(items.length);
          const rows = items.map((what) => ({ what, revision: 0 }));
          await sql`INSERT INTO revisions ${sql(rows)}`;
        },
      };
      await Promise.all(
        ['a', 'b', 'c'].map((name) =>
          database.write(async (_, later) => later(batch, `test ${name}`)),
        ),
      );
      expect(ran).toEqual([3]);
      expect(await names(database)).toEqual(['a', 'b', 'c']);
      const spoilt = database.write(async (_, later) => later(batch, 'test a'));
      await expect(spoilt).rejects.toThrow();
      expect(await names(database)).toEqual(['a', 'b', 'c']);
    });

    it('completes pending changes before it closes', async () => {
      const begun = ['test a', 'test b'].map((what) => make(database, what));
      await again();
      await Promise.all(begun);
      expect(await names(database)).toEqual(['a', 'b']);
    });

    it('compares texts by their bytes', async () => {
      const ordered = ['A', 'B', 'Z', 'a', 'b', 'z', 'Ä', 'ä', '€', '\u{1D11E}'];
      for (const name of ordered.toReversed()) await make(database, `test ${name}`);
      expect(await names(database)).toEqual(ordered);
    });

    it('stores integers of 53 bits', async () => {
      await make(database, 'test n', Number.MAX_SAFE_INTEGER);
      const rows: { revision: number | string }[] = await database.read`
        SELECT revision FROM revisions WHERE revision = ${Number.MAX_SAFE_INTEGER}`;
      expect(Number(rows[0]?.revision)).toBe(Number.MAX_SAFE_INTEGER);
    });

    it('passes its check', async () => {
      await database.check();
      await database.waitBriefly();
      expect(await database.lost()).toBeUndefined();
    });

    it('is opened if a newer version has only added to it, and refused in words that name both versions if more has changed', async () => {
      await database.write((sql) => sql`INSERT INTO migrations (number) VALUES (999)`);
      await again();
      await make(database, 'test a');
      await database.write((sql) => sql`UPDATE compatibility SET needs = 999`);
      const refusal = async (): Promise<string> => {
        const opening = openDatabase(store.url);
        return await opening.then(
          () => 'opened',
          (error: Error) => error.message,
        );
      };
      const here = `and this is Fanfare ${packageJson.version} (migration ${migrations.length}).`;
      const or = 'or restore the backup that you made before the upgrade';
      expect(await refusal()).toEndWith(
        `cannot be opened: it was changed by a newer version (migration 999), ${here} Start the newer version, ${or}`,
      );
      await database.write(
        (sql) => sql`UPDATE migrations SET release = '7.8.9' WHERE number = 999`,
      );
      expect(await refusal()).toEndWith(
        `cannot be opened: it was changed by Fanfare 7.8.9 (migration 999), ${here} Start 7.8.9 or later, ${or}`,
      );
      // A server that runs already is not stopped.
      expect(await names(database)).toEqual(['a']);
    });
  });
}

describe('the database in an SQLite file', () => {
  it('detects that its file was removed or replaced, and when it is back', async () => {
    await using store = sqliteFile();
    await using database = await openDatabase(store.url);
    const { file } = store;
    renameSync(file, `${file}.away`);
    expect(await database.lost()).toContain('was removed or replaced');
    writeFileSync(file, 'another one');
    expect(await database.lost()).toContain('was removed or replaced');
    renameSync(`${file}.away`, file);
    expect(await database.lost()).toBeUndefined();
  });

  it('creates its folder for its owner only', async () => {
    await using store = sqliteFile();
    const url = store.url.replace('store.db', 'deep/er/store.db');
    await using _ = await openDatabase(url);
    expect(statSync(store.file.replace('store.db', 'deep')).mode & 0o777).toBe(0o700);
    rmSync(store.file.replace('store.db', 'deep'), { recursive: true });
  });
});

describe('the database on PostgreSQL', () => {
  it('is migrated once, even if several servers start at the same time', async () => {
    await using store = await throwAwayPostgres();
    await using parts = new AsyncDisposableStack();
    const opened = await Promise.all(Array.from({ length: 5 }, () => openDatabase(store.url)));
    for (const one of opened) parts.use(one);
    await using database = await openDatabase(store.url);
    const made: { number: number }[] = await database.read`
      SELECT number FROM migrations ORDER BY number`;
    expect(made.length).toBeGreaterThan(3);
    expect(made.map(({ number }) => number)).toEqual(made.map((_, index) => index + 1));
    expect(await database.read`SELECT 1 FROM revisions WHERE what = 'apps'`).toHaveLength(1);
  });

  it('is shared by servers that change the same rows', async () => {
    await using store = await newStorePostgres();
    await using one = await openDatabase(store.url);
    await using other = await openDatabase(store.url);
    await make(one, 'test count');
    const up = (database: Database) =>
      database.write((sql) => sql`UPDATE revisions SET revision = revision + 1`);
    await Promise.all(Array.from({ length: 60 }, (_, index) => up(index % 2 === 0 ? one : other)));
    const rows: { revision: string }[] = await one.read`
      SELECT revision FROM revisions WHERE what = 'test count'`;
    expect(Number(rows[0]?.revision)).toBe(60);
  });

  it('detects that its tables are missing', async () => {
    await using store = await newStorePostgres();
    await using database = await openDatabase(store.url);
    await database.write((sql) => sql`ALTER TABLE migrations RENAME TO taken_away`);
    expect(await database.lost()).toBe('the tables are missing from the database');
  });

  it('has its own settings, whatever those of the role and the database are', async () => {
    await using store = await newStorePostgres();
    await using database = await openDatabase(store.url);
    const settings = (sql: SQL) => sql`SELECT current_setting('transaction_isolation') AS isolation,
      current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock,
      current_setting('idle_in_transaction_session_timeout') AS idle`;
    const own = { statement: '10s', lock: '0', idle: '15s' };
    expect(await database.write(async (sql) => [...(await settings(sql))])).toEqual([
      { ...own, isolation: 'read committed' },
    ]);
    expect([...(await settings(database.read))]).toMatchObject([own]);
    expect(database.pooler).toBeUndefined();
  });

  it('names no statement any more once one was lost, as in a pooler that was put into transaction mode', async () => {
    await using store = await newStorePostgres();
    await using database = await openDatabase(store.url);
    const losing = () =>
      database.write(async (sql) => {
        const ask = () => sql`SELECT what FROM revisions WHERE what = ${'apps'}`;
        await ask();
        await sql`DEALLOCATE ALL`;
        return [...(await ask())];
      });
    await expect(losing()).rejects.toThrow('does not exist');
    expect(await losing()).toEqual([{ what: 'apps' }]);
    expect([...(await database.read`SELECT 1 AS one`)]).toEqual([{ one: 1 }]);
  });

  it.each([
    [
      'read-only',
      { default_transaction_read_only: 'on' },
      'the role or the database sets default_transaction_read_only = on',
    ],
    [
      'without a schema',
      { search_path: 'nowhere' },
      'no schema of its search_path exists (nowhere), so tables have no place',
    ],
  ])('is refused by name if it is %s', async (_, defaults, why) => {
    await using store = await throwAwayPostgres(defaults);
    await expect(openDatabase(store.url)).rejects.toThrow(`cannot be opened: ${why}`);
  });

  it('must be encoded in UTF-8', async () => {
    await using store = await throwAwayPostgres();
    {
      await using sql = new SQL(store.url, { max: 1 });
      await sql.unsafe("CREATE DATABASE narrow ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    }
    const url = store.url.replace(/[^/]+$/, 'narrow');
    await expect(openDatabase(url)).rejects.toThrow(
      /cannot be opened: its encoding is LATIN1, but must be UTF8$/,
    );
    await using sql = new SQL(store.url, { max: 1 });
    await sql.unsafe('DROP DATABASE narrow');
  });
});

describe('the address of a store', () => {
  const why = async (url: string): Promise<Error> => {
    try {
      await using _ = await openDatabase(url);
    } catch (error) {
      if (error instanceof Error) return error;
    }
    throw new Error(`${url} was opened`);
  };

  it.each([
    'postgres://user:geheim@127.0.0.1:1/db',
    'postgresql://user:geheim@127.0.0.1:1/db',
    'postgres://user:gehe@geheim@127.0.0.1:1/db',
    'postgres://user:ge/geheim@127.0.0.1:1/db',
    'postgres://user:ge?geheim@127.0.0.1:1/db',
    'postgres://user:ge#geheim@127.0.0.1:1/db',
    'postgres://user:geheim@[::1/db',
    'postgres://:geheim@127.0.0.1:1/db',
    'postgres://127.0.0.1:1/db?user=x&password=geheim',
    'postgres://user:geheim@127.0.0.1:1/db?sslmode=nonsense',
    'postgres://user:1/geheim@127.0.0.1:1/db',
    'postgres://user:1@geheim/x@127.0.0.1:1/db',
    'postgres://user:1@geheim?x@127.0.0.1:1/db',
    'postgres://user:1@geheim#x@127.0.0.1:1/db',
    'postgres://user:geheim%@127.0.0.1:1/db',
  ])('never shows its password where it cannot be opened: %s', async (url) => {
    const error = await why(url);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(error.message).not.toContain('geheim');
    expect(error.message.length).toBeGreaterThan(20);
  });

  it.each([
    'postgres://u:p@ss/word@db.example/x',
    'postgres://u:1/2@db.example/x',
    'postgres://u:p@ss?word@db.example/x',
    'postgres://u:p@ss?a=b@db.example/x',
    'postgres://u:p@ss#word@db.example/x',
    'postgres://u:100%@db.example/x',
  ])('whose password would change its host is refused before anything is sent: %s', async (url) => {
    expect((await why(url)).message).toBe(
      'store.url: not a valid address; in a user or a password, characters such as / ? # @ : % must be percent-encoded (%2F %3F %23 %40 %3A %25)',
    );
  });

  it('is named with the reason where no connection can be made', async () => {
    expect((await why('postgres://u:p@127.0.0.1:1/db?application_name=a@b')).message).toEndWith(
      'cannot be opened: nothing listens at 127.0.0.1:1 (ECONNREFUSED). Check store.url',
    );
    expect((await why('postgres://u:p@[::1]:1/db')).message).toContain(
      'nothing listens at [::1]:1 (ECONNREFUSED)',
    );
    expect((await why('postgres://u:p@nobody.invalid/db')).message).toMatch(
      /cannot be opened: the name nobody\.invalid (is unknown \(ENOTFOUND\)|cannot be looked up, .*)\. Check store\.url$/,
    );
  });

  it('is shown without any password', () => {
    const word = fc.stringMatching(/^[a-z]{1,8}$/);
    const password = fc.stringMatching(/^[A-Z@:/?#]{0,5}[A-Z]{6}[A-Z@:/?#]{0,5}$/);
    fc.assert(
      fc.property(word, password, word, word, (user, secret, host, name) => {
        const shown = shownStore(`postgres://${user}:${secret}@${host}:5432/${name}`);
        expect(shown).toBe(`postgres://***@${host}:5432/${name}`);
      }),
    );
    expect(shownStore('sqlite:data/fanfare.db')).toBe('sqlite:data/fanfare.db');
    expect(shownStore('postgres://host/db')).toBe('postgres://host/db');
  });

  it('must be of a known kind', async () => {
    for (const url of ['mysql://host/db', 'sqlite:', 'data/fanfare.db', '']) {
      expect((await why(url)).message).toBe(
        'store.url: it must be sqlite:FILE or postgres://…, for example sqlite:data/fanfare.db',
      );
    }
  });
});
