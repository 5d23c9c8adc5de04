import { afterAll, afterEach, beforeAll, describe, expect, it } from 'bun:test';
import { SQL } from 'bun';
import type { PostgresOutbox } from '../../src/sources/outbox.ts';
import type { Look } from '../../src/sources/ports.ts';
import { BELOW_ALL } from '../../src/sources/progress.ts';
import {
  BODY_BYTES_MAX,
  type OutboxResult,
  type OutboxRow,
  type RowKind,
  SENT,
  TOO_LONG,
  UNTRIED,
} from '../../src/sources/row.ts';
import { outboxSql } from '../../src/sources/schema.ts';
import { startPgBouncer } from '../../testing/databases/pgbouncer.ts';
import {
  newSourceDatabase,
  outboxAt,
  type SourceDatabase,
} from '../../testing/databases/source.ts';

let database: SourceDatabase;

beforeAll(async () => {
  database = await newSourceDatabase();
});
afterEach(async () => {
  await database.sql`DELETE FROM fanfare.outbox`;
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

const ALL = {
  after: BELOW_ALL,
  running: new Map<string, bigint>(),
  kinds: ['event', 'publish'] as readonly RowKind[],
};

type Found = Exclude<Look, string>;

/** Looks once; `result` says what becomes of each row. */
async function look(
  outbox: PostgresOutbox,
  result: (row: OutboxRow) => OutboxResult = () => SENT,
  options = ALL,
): Promise<Found> {
  const found = await outbox.look(options, async (rows) => rows.map(result));
  if (found === 'followed-elsewhere') throw new Error(found);
  return found;
}

const bodiesOf = ({ rows }: Found) => rows.map(({ body }) => JSON.parse(body ?? 'null'));

async function left(
  sql = database.sql,
): Promise<readonly { kind: string; failed: string | null }[]> {
  return [...(await sql`SELECT kind, failed FROM fanfare.outbox ORDER BY id`)];
}

describe('the SQL of an outbox', () => {
  it('can be run again, and keeps the rows', async () => {
    await database.sql`SELECT fanfare.trigger('a', 'e', '1')`;
    await database.sql.unsafe(outboxSql('fanfare'));
    expect(await left()).toEqual([{ kind: 'event', failed: null }]);
  });

  it('takes a word of SQL as the name of its schema', async () => {
    await database.sql.unsafe(outboxSql('select'));
    await database.sql.unsafe(`SELECT "select".trigger('a', 'e', '1')`);
    await using outbox = outboxAt(database.url, 'select');
    expect(bodiesOf(await look(outbox))).toHaveLength(1);
  });

  it('writes events and publishes as their APIs take them, with the JSON of the application as it was written', async () => {
    const { sql } = database;
    await sql`SELECT fanfare.trigger('private-a', 'paid', ${'{"b": 1.0, "a":2, "a":3}'}::text::json)`;
    await sql`SELECT fanfare.trigger(ARRAY['a', 'b'], 'e', '"text"', '1.2')`;
    await sql`SELECT fanfare.publish_to_interests(ARRAY['hello'], '{"users":["x"],"web":{"notification":{"title":"Hi"}}}')`;
    await sql`SELECT fanfare.publish_to_users(ARRAY['ann'], '{"apns":{}}')`;
    await using outbox = outboxAt(database.url);
    const found = await look(outbox);
    expect(found.rows[0]?.body).toContain('{"b": 1.0, "a":2, "a":3}');
    expect(bodiesOf(found)).toEqual([
      { name: 'paid', channel: 'private-a', data: { a: 3, b: 1 }, socket_id: null },
      { name: 'e', channels: ['a', 'b'], data: 'text', socket_id: '1.2' },
      { interests: ['hello'], web: { notification: { title: 'Hi' } } },
      { users: ['ann'], apns: {} },
    ]);
    expect(found.rows.map(({ kind }) => kind)).toEqual(['event', 'event', 'publish', 'publish']);
  });

  it('refuses a publish that is no object inside the transaction of the application', async () => {
    const publishing = database.sql`SELECT fanfare.publish_to_users(ARRAY['ann'], '[]')`;
    expect(publishing.execute()).rejects.toThrow();
  });

  it('lets a role with USAGE of the schema write by the functions, and do nothing else', async () => {
    const { sql, url } = database;
    await sql.unsafe('CREATE ROLE shop LOGIN; GRANT USAGE ON SCHEMA fanfare TO shop');
    try {
      await using shop = new SQL(url.replace('postgres@', 'shop@'), { max: 1 });
      await shop`SELECT fanfare.trigger('a', 'e', '1')`;
      expect(shop`SELECT * FROM fanfare.outbox`.execute()).rejects.toThrow(/permission denied/);
      expect(shop`DELETE FROM fanfare.outbox`.execute()).rejects.toThrow(/permission denied/);
      expect(await left()).toHaveLength(1);
    } finally {
      await sql.unsafe('DROP OWNED BY shop; DROP ROLE shop');
    }
  });

  it('does not run types and functions that the caller puts before those of PostgreSQL', async () => {
    const { sql, url } = database;
    await sql.unsafe('CREATE ROLE evil LOGIN; GRANT USAGE ON SCHEMA fanfare TO evil');
    await sql.unsafe('CREATE SCHEMA evil AUTHORIZATION evil');
    try {
      await using evil = new SQL(url.replace('postgres@', 'evil@'), { max: 1 });
      await evil.unsafe(`
        CREATE TABLE evil.seen (who name);
        CREATE FUNCTION evil.note(given pg_catalog.text) RETURNS boolean LANGUAGE plpgsql AS $$
          BEGIN INSERT INTO evil.seen VALUES (current_user); RETURN true; END $$;
        CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (evil.note(VALUE::pg_catalog.text));
        SET search_path = evil, pg_catalog, pg_temp;
        SELECT fanfare.trigger('a'::pg_catalog.text, 'e'::pg_catalog.text, '1'::json);
        SELECT fanfare.publish_to_users(ARRAY['ann'::pg_catalog.text], '{"web":{}}'::json)`);
      expect(await sql`SELECT * FROM evil.seen`).toHaveLength(0);
      await using outbox = outboxAt(url);
      expect(bodiesOf(await look(outbox))[0]).toMatchObject({ name: 'e' });
    } finally {
      await sql.unsafe('DROP OWNED BY evil; DROP ROLE evil');
    }
  });
});

describe('a look at an outbox', () => {
  it('gives rows in the order of their ids, of which nothing is left once they were sent', async () => {
    for (let n = 0; n < 12; n++) await database.sql`SELECT fanfare.trigger('a', ${`e${n}`}, '1')`;
    await using outbox = outboxAt(database.url);
    const names = bodiesOf(await look(outbox)).map(({ name }) => name);
    expect(names).toEqual(Array.from({ length: 12 }, (_, n) => `e${n}`));
    expect(await left()).toEqual([]);
  });

  it('gives nothing of a transaction that was rolled back or is open', async () => {
    const { sql } = database;
    await sql
      .begin(async (transaction) => {
        await transaction`SELECT fanfare.trigger('a', 'rolled-back', '1')`;
        throw new Error('no');
      })
      .catch(() => undefined);
    await using outbox = outboxAt(database.url);
    await sql.begin(async (transaction) => {
      await transaction`SELECT fanfare.trigger('a', 'committed', '1')`;
      expect((await look(outbox)).rows).toEqual([]);
    });
    expect(bodiesOf(await look(outbox)).map(({ name }) => name)).toEqual(['committed']);
  });

  it('keeps what was not sent, and marks what can never be, until somebody removes the mark', async () => {
    const { sql } = database;
    for (const name of ['sent', 'poison', 'later']) {
      await sql`SELECT fanfare.trigger('a', ${name}, '1')`;
    }
    await using outbox = outboxAt(database.url);
    await look(outbox, ({ body = '' }) => {
      if (body.includes('poison')) return { result: 'failed', why: '400 no\0' };
      return body.includes('later') ? UNTRIED : SENT;
    });
    expect(await left()).toEqual([
      { kind: 'event', failed: '400 no' },
      { kind: 'event', failed: null },
    ]);
    expect(bodiesOf(await look(outbox, () => UNTRIED))).toMatchObject([{ name: 'later' }]);
    expect(await outbox.figures()).toMatchObject({ waiting: 1, failed: 1, lastFailure: '400 no' });
    await sql`UPDATE fanfare.outbox SET failed = NULL`;
    expect(bodiesOf(await look(outbox))).toMatchObject([{ name: 'poison' }, { name: 'later' }]);
  });

  it('does not read a body that is too long, and reads at most about one MiB of others', async () => {
    const insert = (bytes: number) =>
      database.sql`INSERT INTO fanfare.outbox (kind, body) VALUES ('event', repeat('x', ${bytes}))`;
    await insert(BODY_BYTES_MAX + 1);
    for (let n = 0; n < 5; n++) await insert(400_000);
    await using outbox = outboxAt(database.url);
    const found = await look(outbox, ({ body }) => (body === undefined ? TOO_LONG : SENT));
    expect(found.rows.map(({ body }) => body?.length)).toEqual([
      undefined,
      400_000,
      400_000,
      400_000,
    ]);
    expect(found.isFull).toBe(true);
    expect((await left())[0]?.failed).toStartWith('413 ');
    const rest = await look(outbox);
    expect([rest.rows.length, rest.isFull]).toEqual([2, false]);
  });

  it('takes 500 rows at most', async () => {
    await database.sql`SELECT fanfare.trigger('a', 'e', '1') FROM generate_series(1, 501)`;
    await using outbox = outboxAt(database.url);
    const [first, second] = [await look(outbox), await look(outbox)];
    expect([first.rows.length, first.isFull]).toEqual([500, true]);
    expect([second.rows.length, second.isFull]).toEqual([1, false]);
  });

  it('gives only rows of the kinds that are asked for', async () => {
    await database.sql`SELECT fanfare.trigger('a', 'e', '1')`;
    await database.sql`SELECT fanfare.publish_to_users(ARRAY['ann'], '{}')`;
    await using outbox = outboxAt(database.url);
    const found = await look(outbox, () => SENT, { ...ALL, kinds: ['publish'] });
    expect(found.rows.map(({ kind }) => kind)).toEqual(['publish']);
  });

  it('begins before the rows of a transaction that ran at an earlier look and has ended', async () => {
    const { sql } = database;
    await using outbox = outboxAt(database.url);
    const late = await sql.reserve();
    try {
      await late.unsafe(`BEGIN; SELECT fanfare.trigger('a', 'late', '1')`);
      await sql`SELECT fanfare.trigger('a', 'e', '1') FROM generate_series(1, 400)`;
      const earlier = await look(outbox);
      const [running] = earlier.running;
      if (running === undefined) throw new Error('The transaction was not seen');
      const after = earlier.rows.at(-1)?.id ?? 0n;
      const options = { ...ALL, after, running: new Map([[running, BELOW_ALL]]) };
      expect((await look(outbox, () => SENT, options)).rows).toEqual([]);
      await late.unsafe('COMMIT');
      await sql`SELECT fanfare.trigger('a', 'next', '1')`;
      const names = bodiesOf(await look(outbox, () => SENT, options)).map(({ name }) => name);
      expect(names).toEqual(['late', 'next']);
    } finally {
      late.release();
    }
  });

  it('gives a row the same key each time, and another one once the ids have begun anew', async () => {
    await using outbox = outboxAt(database.url);
    const keyOf = async (result = SENT) => (await look(outbox, () => result)).rows[0]?.key;
    await database.sql`TRUNCATE fanfare.outbox RESTART IDENTITY`;
    await database.sql`SELECT fanfare.trigger('a', 'e', '1')`;
    const key = await keyOf(UNTRIED);
    expect(key).toMatch(/^source:\d+\.\d+:1:\d{16}$/);
    expect(await keyOf()).toBe(key);
    await database.sql`TRUNCATE fanfare.outbox RESTART IDENTITY`;
    await database.sql`SELECT fanfare.trigger('a', 'e', '1')`;
    expect(await keyOf()).not.toBe(key);
  });

  it('works through PgBouncer in transaction mode, with the rights that are documented', async () => {
    const { sql, url } = database;
    await sql.unsafe(`CREATE ROLE sender LOGIN; GRANT USAGE ON SCHEMA fanfare TO sender;
      GRANT SELECT, DELETE, UPDATE (failed) ON fanfare.outbox TO sender`);
    await using pooler = await startPgBouncer(url.replace('postgres@', 'sender@'), 'transaction');
    try {
      await using outbox = outboxAt(pooler.pooled(url).replace('postgres@', 'sender@'));
      for (const name of ['a', 'b']) {
        await sql`SELECT fanfare.trigger('a', ${name}, '1')`;
        const result: OutboxResult = name === 'a' ? SENT : { result: 'failed', why: '400' };
        expect((await look(outbox, () => result)).rows).toHaveLength(1);
        await outbox.figures();
        await outbox.tidy();
      }
      expect(await left()).toEqual([{ kind: 'event', failed: '400' }]);
    } finally {
      await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'sender'`;
      await sql.unsafe('DROP OWNED BY sender; DROP ROLE sender');
    }
  });
});

describe('two servers with one outbox', () => {
  it('follow it one at a time', async () => {
    await database.sql`SELECT fanfare.trigger('a', 'e', '1')`;
    await using one = outboxAt(database.url);
    await using other = outboxAt(database.url);
    const sending = Promise.withResolvers<readonly OutboxResult[]>();
    const begun = Promise.withResolvers<void>();
    const first = one.look(ALL, () => {
      begun.resolve();
      return sending.promise;
    });
    await begun.promise;
    expect(await other.look(ALL, async () => [])).toBe('followed-elsewhere');
    sending.resolve([SENT]);
    await first;
    expect((await look(other)).rows).toEqual([]);
  });

  it('take over from one that stands still in a transaction', async () => {
    await database.sql`SELECT fanfare.trigger('a', 'e', '1')`;
    await using frozen = outboxAt(database.url);
    await using other = outboxAt(database.url);
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const standing = frozen.look(ALL, async () => {
      begun.resolve();
      await goOn.promise;
      return [SENT];
    });
    standing.catch(() => undefined);
    await begun.promise;
    for (;;) {
      const found = await other.look(ALL, async (rows) => rows.map(() => SENT));
      if (found === 'followed-elsewhere') continue;
      expect(found.rows).toHaveLength(1);
      break;
    }
    goOn.resolve();
    expect(standing).rejects.toThrow();
  }, 60_000);
});

describe('failed rows', () => {
  it('are deleted after seven days, and when there are more than 10,000', async () => {
    const { sql } = database;
    await sql`INSERT INTO fanfare.outbox (kind, body, failed, at)
      SELECT 'event', '', '400', now() - interval '8 days' FROM generate_series(1, 3)`;
    await sql`INSERT INTO fanfare.outbox (kind, body, failed) SELECT 'event', n, '400' FROM generate_series(1, 10005) AS n`;
    await sql`INSERT INTO fanfare.outbox (kind, body, at) VALUES ('event', 'waits', now() - interval '8 days')`;
    await using outbox = outboxAt(database.url);
    await outbox.tidy();
    const [row] =
      await sql`SELECT count(*)::int AS rows, min(body::int) FILTER (WHERE failed IS NOT NULL)::int AS first
      FROM fanfare.outbox`;
    expect(row).toEqual({ rows: 10_001, first: 6 });
  });
});

describe('a database that cannot be used', () => {
  it('says what to do, and never the password', async () => {
    const refused = async (url: string, schema?: string) => {
      await using outbox = outboxAt(url, schema);
      const error: unknown = await look(outbox).catch((one: unknown) => one);
      return String(error);
    };
    expect(await refused(database.url, 'nowhere')).toContain(
      'Run there what `fanfare source sql --schema nowhere` prints',
    );
    const secret = 'hunter2';
    for (const url of [
      database.url.replace('postgres@', `nobody:${secret}@`),
      database.url.replace(/postgres@.*/, `u:${secret}@127.0.0.1:1/x`),
      database.url.replace(/postgres@.*/, `u:${secret}@no.such.host.invalid/x`),
    ]) {
      const said = await refused(url);
      expect(said).toStartWith('SourceAway: ');
      expect(said).not.toContain(secret);
    }
    await database.sql.unsafe('CREATE ROLE powerless LOGIN');
    try {
      expect(await refused(database.url.replace('postgres@', 'powerless@'))).toContain(
        'The role needs USAGE on fanfare',
      );
    } finally {
      await database.sql.unsafe('DROP ROLE powerless');
    }
  });

  it('is used again after its connection was cut, also in the middle of a look', async () => {
    await database.sql`SELECT fanfare.trigger('a', 'e', '1')`;
    await using outbox = outboxAt(database.url);
    const cut = outbox.look(ALL, async () => {
      await database.sql`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
        WHERE application_name = 'fanfare' AND datname = current_database() AND pid <> pg_backend_pid()`;
      return [SENT];
    });
    expect(cut).rejects.toThrow();
    await cut.catch(() => undefined);
    expect((await look(outbox)).rows).toHaveLength(1);
  });
});
