import { afterAll, beforeAll, beforeEach, expect, it } from 'bun:test';
import { join } from 'node:path';
import { SQL } from 'bun';
import { type ThrowAwayDatabase, throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { codeIn } from '../../testing/doc-code.ts';
import { fanfare, temporaryDirectory } from '../cli/run-fanfare.ts';

/** What docs/operate/transactions.md shows, as a reader would copy it. */

const PAGE = join(import.meta.dir, '../../docs/operate/transactions.md');

let database: ThrowAwayDatabase;
let sql: SQL;
beforeAll(async () => {
  database = await throwAwayPostgres();
  sql = new SQL(database.url, { max: 2 });
  using directory = temporaryDirectory();
  const { exitCode, stdout } = await fanfare(directory.path, ['source', 'sql']);
  expect(exitCode).toBe(0);
  await sql.unsafe(stdout);
  await sql.unsafe('CREATE TABLE orders (id int PRIMARY KEY, paid boolean)');
});
beforeEach(async () => {
  await sql`DELETE FROM fanfare.outbox`;
});
afterAll(async () => {
  await sql.close({ timeout: 0 });
  await database[Symbol.asyncDispose]();
});

async function bodies(): Promise<readonly unknown[]> {
  const rows: { body: string }[] = await sql`SELECT body FROM fanfare.outbox ORDER BY id`;
  return rows.map(({ body }) => JSON.parse(body));
}

/** Runs a statement as other clients do: Bun's makes JSON of a text that is cast to it. */
function runText(client: SQL, text: string, values: readonly unknown[]) {
  return client.unsafe(text.replace(/(\$\d)::json/, '$1::text::json'), [...values]);
}

/** A block of SQL without the spaces that a list puts before it. */
async function indentedSql(text: string): Promise<string> {
  const page = await Bun.file(PAGE).text();
  const blocks = [...page.matchAll(/^ {3}```sql\n([\s\S]*?)^ {3}```$/gm)];
  return blocks.find(([, code]) => code?.includes(text))?.[1] ?? '';
}

it('makes a role that can do what a server does', async () => {
  const grants = await indentedSql('CREATE ROLE fanfare');
  await sql.unsafe('CREATE ROLE shop_backend');
  try {
    await sql.unsafe(grants);
    await using own = new SQL(database.url.replace('postgres@', 'fanfare@'), { max: 1 });
    await own`SELECT * FROM fanfare.outbox`;
    await own`UPDATE fanfare.outbox SET failed = NULL`;
    await own`DELETE FROM fanfare.outbox`;
    expect(own`UPDATE fanfare.outbox SET body = ''`.execute()).rejects.toThrow(/permission denied/);
  } finally {
    await sql.unsafe(
      'DROP OWNED BY fanfare, shop_backend; DROP ROLE fanfare; DROP ROLE shop_backend',
    );
  }
});

it('sends from Node in a transaction', async () => {
  const code = await codeIn(PAGE, 'js', 'fanfare.trigger');
  const client = await sql.reserve();
  const query = (text: string, values: readonly unknown[] = []) => runText(client, text, values);
  const run = new Function('client', 'order', `return (async () => { ${code} })();`);
  await run({ query }, { id: 7 });
  client.release();
  expect(await bodies()).toEqual([
    { name: 'paid', channel: 'private-orders', data: { id: 7 }, socket_id: null },
  ]);
});

it('sends from PHP with a statement that PostgreSQL takes', async () => {
  const code = await codeIn(PAGE, 'php', 'fanfare.trigger');
  const statement = /DB::select\("([^"]+)"/.exec(code)?.[1] ?? '';
  let place = 0;
  const numbered = statement.replace(/\?/g, () => `$${++place}`);
  await runText(sql, numbered, ['private-user-1', '{"id":7}']);
  expect(await bodies()).toMatchObject([{ channel: 'private-user-1', data: { id: 7 } }]);
});

it('sends from a trigger of a table', async () => {
  await sql.unsafe(await codeIn(PAGE, 'sql', 'CREATE TRIGGER announce'));
  await sql`INSERT INTO orders VALUES (1, false)`;
  await sql`UPDATE orders SET paid = true`;
  const events = await bodies();
  expect(events).toMatchObject([
    { name: 'insert', channel: 'private-orders', data: { id: 1, paid: false } },
    { name: 'update', channel: 'private-orders', data: { id: 1, paid: true } },
  ]);
});

it('finds failed rows and sends them again', async () => {
  await sql`INSERT INTO fanfare.outbox (kind, body, failed) VALUES ('event', '{}', '413 too much')`;
  const rows = await sql.unsafe(await codeIn(PAGE, 'sql', 'SELECT id, kind'));
  expect([...rows]).toMatchObject([{ kind: 'event', failed: '413 too much', left: '{}' }]);
  await sql.unsafe(await codeIn(PAGE, 'sql', 'SET failed = NULL'));
  expect(await sql`SELECT 1 FROM fanfare.outbox WHERE failed IS NULL`).toHaveLength(1);
});

it('refuses a schema that is no plain name, with 2', async () => {
  using directory = temporaryDirectory();
  const ended = await fanfare(directory.path, ['source', 'sql', '--schema', 'x; DROP TABLE y']);
  expect(ended.exitCode).toBe(2);
  expect(ended.stdout).toBe('');
});
