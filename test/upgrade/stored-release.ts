import { Database as SqliteFile } from 'bun:sqlite';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Glob, SQL } from 'bun';
import { type Dialect, isPostgres } from '../../src/stores/database/dialect.ts';
import { migrations } from '../../src/stores/database/migrations.ts';
import { dumpPostgres } from '../../testing/databases/postgres.ts';

/** The stores of released versions as SQL text, in `fixtures/VERSION.DIALECT.sql`. */

const FOLDER = join(import.meta.dir, 'fixtures');

/** Times this close to that of the dump are moved with it. */
const NEAR_MS = 40 * 86_400_000;

/** The statements that make the store of a release. */
export interface StoredRelease {
  readonly release: string;
  readonly dialect: Dialect;
  /** How many migrations it has, and what they were. */
  readonly layout: number;
  readonly digest: string;
  /** `{now±MS}` stands for a time, and `{name}` for a text that each test chooses. */
  readonly sql: string;
}

/** A text in a store that is another one in each test, for example an address. */
export type Places = Readonly<Record<string, string>>;

/** What the first migrations were. White space does not count. */
export function digestOf(layout: number): string {
  const texts = migrations.slice(0, layout).flat();
  const words = texts.map((text) => text.replace(/\s+/g, ' ')).join('\n');
  return createHash('sha256').update(words).digest('hex');
}

function fileOf(release: string, dialect: Dialect): string {
  return join(FOLDER, `${release}.${dialect}.sql`);
}

/** Reads all fixtures. */
export async function storedReleases(): Promise<readonly StoredRelease[]> {
  const names = [...new Glob('*.sql').scanSync(FOLDER)].toSorted();
  return await Promise.all(
    names.map(async (name) => {
      const text = await Bun.file(join(FOLDER, name)).text();
      const head = /^-- Fanfare (\S+) on (sqlite|postgres)\. Migrations: (\d+), (\w{64})\./;
      const [, release = '', dialect, layout, digest = ''] = head.exec(text) ?? [];
      if (dialect === undefined) throw new Error(`${name} does not say what it is`);
      const sql = text.slice(text.indexOf('\n') + 1);
      return { release, dialect: dialect as Dialect, layout: Number(layout), digest, sql };
    }),
  );
}

/** Writes the store at `url`, which no server uses, as the fixture of a release. */
export async function writeFixture(release: string, url: string, places: Places): Promise<string> {
  await using sql = new SQL(url);
  const dialect: Dialect = isPostgres(sql) ? 'postgres' : 'sqlite';
  const nowMs = Date.now();
  let text = dialect === 'sqlite' ? await dumpSqlite(sql) : plainStatements(dumpPostgres(url));
  for (const [name, place] of Object.entries(places)) text = text.replaceAll(place, `{${name}}`);
  // Times in milliseconds have 13 digits.
  text = text.replace(/\b\d{13}\b/g, (digits) => {
    const agoMs = Number(digits) - nowMs;
    if (Math.abs(agoMs) > NEAR_MS) return digits;
    return `{now${agoMs < 0 ? '' : '+'}${agoMs}}`;
  });
  const layout = migrations.length;
  const head = `-- Fanfare ${release} on ${dialect}. Migrations: ${layout}, ${digestOf(layout)}. All data are made up. Printed by npm run upgrade-fixtures.`;
  const file = fileOf(release, dialect);
  await Bun.write(file, `${head}\n${text}`);
  return file;
}

/** Makes the store at `url`, which is empty, that of a release, as if it had been stopped at `stoppedAtMs`. */
export async function loadRelease(
  { dialect, sql }: StoredRelease,
  url: string,
  { stoppedAtMs, places }: { readonly stoppedAtMs: number; readonly places: Places },
): Promise<void> {
  const text = sql
    .replace(/\{now([+-]\d+)\}/g, (_, ms: string) => String(stoppedAtMs + Number(ms)))
    .replace(/\{([a-z]+)\}/g, (whole, name: string) => places[name] ?? whole);
  if (dialect === 'sqlite') {
    using file = new SqliteFile(url.slice('sqlite:'.length), { create: true });
    file.run(text);
  } else {
    // As `pg_dump` writes it: a backslash is no escape.
    const connection = { standard_conforming_strings: 'on' };
    await using database = new SQL(url, { max: 1, connection });
    await database.unsafe(text);
  }
}

async function dumpSqlite(sql: SQL): Promise<string> {
  const made: { type: string; name: string; sql: string }[] = await sql`
    SELECT type, name, sql FROM sqlite_schema
    WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, name`;
  const lines = made.map((one) => `${one.sql.replace(/\s+/g, ' ')};`);
  const tables = made.filter(({ type }) => type === 'table').map(({ name }) => name);
  // The last numbers of tables, which are never used again.
  for (const table of [...tables, 'sqlite_sequence']) {
    const rows: Record<string, unknown>[] = await sql.unsafe(`SELECT * FROM ${table}`);
    for (const row of rows) {
      const values = Object.values(row).map(literal).join(', ');
      lines.push(`INSERT INTO ${table} VALUES (${values});`);
    }
  }
  return `BEGIN;\n${lines.join('\n')}\nCOMMIT;\n`;
}

function literal(value: unknown): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`;
  throw new Error(`A fixture cannot hold ${typeof value}`);
}

/** A dump of `pg_dump` without comments, and without settings and commands of programs. */
function plainStatements(dump: string): string {
  const lines = dump
    .split('\n')
    .filter((line) => !/^(?:--|SET |\\|SELECT pg_catalog\.set_config|$)/.test(line));
  return `BEGIN;\n${lines.join('\n')}\nCOMMIT;\n`;
}
