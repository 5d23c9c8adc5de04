import { spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { openDatabase } from '../../src/stores/database/database.ts';
import { oncePerRun } from '../once-per-run.ts';
import { freePort } from '../servers/free-port.ts';

/** An empty database on the PostgreSQL cluster that tests share. */
export interface ThrowAwayDatabase extends AsyncDisposable {
  readonly url: string;
}

/** What is lost is lost with the machine, and no database lives long enough for a vacuum. */
const FAST: readonly string[] = [
  'fsync=off',
  'full_page_writes=off',
  'autovacuum=off',
  'jit=off',
  'wal_level=minimal',
  'max_wal_senders=0',
];

const LOOK_MS = 10;

/** The end of its log that is shown if it does not start. */
const LOG_CHARACTERS = 2000;

let sharedPort: Promise<number> | undefined;

/** Settings that an operator may give a role or a database, and that would change what statements do. */
export const ODD_DEFAULTS: Readonly<Record<string, string>> = {
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  lock_timeout: '1ms',
  statement_timeout: '30s',
  idle_in_transaction_session_timeout: '30s',
  search_path: 'nowhere, public',
  client_encoding: 'LATIN1',
  DateStyle: 'German, DMY',
  IntervalStyle: 'iso_8601',
  TimeZone: 'Asia/Kathmandu',
  standard_conforming_strings: 'off',
  bytea_output: 'escape',
};

/** Makes a database without tables, with `defaults` for its settings. The first call starts the cluster. */
export async function throwAwayPostgres(
  defaults: Readonly<Record<string, string>> = {},
): Promise<ThrowAwayDatabase> {
  const port = await portOfCluster();
  return throwAway(port, await createDatabase(port, defaults, 'template1'));
}

function throwAway(port: number, name: string): ThrowAwayDatabase {
  return {
    url: urlOf(port, name),
    async [Symbol.asyncDispose]() {
      await administer(port, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

/** Returns the name. */
async function createDatabase(
  port: number,
  defaults: Readonly<Record<string, string>>,
  template: string,
): Promise<string> {
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`;
  // Copying the template's files takes a fifth of the time of the default strategy.
  await administer(port, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
  const settings = Object.entries(defaults).map(([setting, value]) => {
    const values = value.split(', ').map((one) => `'${one}'`);
    return `ALTER DATABASE ${name} SET ${setting} = ${values}`;
  });
  if (settings.length > 0) await administer(port, settings.join(';'));
  return name;
}

/**
 * Returns a database with the tables of a store, no rows and odd defaults. It is emptied after the test and used again
 * by later ones, also of other processes. A test that changes tables, and a server, need `newStorePostgres`.
 */
export async function migratedPostgres(): Promise<ThrowAwayDatabase> {
  const port = await portOfCluster();
  const url = (await freeDatabase(port)) ?? urlOf(port, await copyOfNewStore(port));
  return {
    url,
    async [Symbol.asyncDispose]() {
      await ask(url, EMPTY);
      const name = new URL(url).pathname.slice(1);
      await administer(port, `INSERT INTO free_databases VALUES ('${name}')`);
    },
  };
}

async function freeDatabase(port: number): Promise<string | undefined> {
  const [taken] = await administer(
    port,
    `DELETE FROM free_databases WHERE name =
      (SELECT name FROM free_databases LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING name`,
  );
  return taken === undefined ? undefined : urlOf(port, String(taken['name']));
}

/** The database with the tables of a new store that others are copied from. */
const NEW_STORE = 'new_store';

/**
 * Makes a database as a server leaves it that has started for the first time, with odd defaults: a copy, which takes a twentieth
 * of the work of the migrations.
 */
export async function newStorePostgres(): Promise<ThrowAwayDatabase> {
  const port = await portOfCluster();
  return throwAway(port, await copyOfNewStore(port));
}

async function copyOfNewStore(port: number): Promise<string> {
  const is = `datname = '${NEW_STORE}'`;
  const [made] = await administer(port, `SELECT 1 FROM pg_database WHERE ${is}`);
  if (made === undefined) await makeNewStore(port);
  return await createDatabase(port, ODD_DEFAULTS, NEW_STORE);
}

async function makeNewStore(port: number): Promise<void> {
  const name = await createDatabase(port, ODD_DEFAULTS, 'template1');
  {
    await using _ = await openDatabase(urlOf(port, name));
  }
  // Another process may have made it meanwhile.
  await administer(port, `ALTER DATABASE ${name} RENAME TO ${NEW_STORE}`).catch(async (error) => {
    // At the same moment, PostgreSQL finds the double name only in its index.
    if (!/already exists|pg_database_datname_index/.test(String(error))) throw error;
    await administer(port, `DROP DATABASE ${name}`);
  });
}

/**
 * Ends all other connections and deletes the rows of all tables, but not what the migrations have recorded. Deleting takes a
 * fiftieth of the time of TRUNCATE, unless a test has written much.
 */
const EMPTY = `DO $$
  DECLARE entry record;
  BEGIN
    PERFORM pg_terminate_backend(pid, 60000) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid();
    SET LOCAL session_replication_role = replica;
    SET LOCAL lock_timeout = 0;
    FOR entry IN SELECT tablename AS name FROM pg_tables
      WHERE schemaname = 'public' AND tablename NOT IN ('migrations', 'compatibility')
    LOOP
      IF pg_relation_size(entry.name::regclass) > 1000000 THEN
        EXECUTE format('TRUNCATE %I CASCADE', entry.name);
      ELSE
        EXECUTE format('DELETE FROM %I', entry.name);
      END IF;
    END LOOP;
    FOR entry IN SELECT format('%I.%I', schemaname, sequencename)::regclass AS name FROM pg_sequences LOOP
      PERFORM setval(entry.name, 1, false);
    END LOOP;
  END
$$`;

function portOfCluster(): Promise<number> {
  sharedPort ??= sharedCluster();
  return sharedPort;
}

function urlOf(port: number, database: string): string {
  return `postgres://postgres@127.0.0.1:${port}/${database}`;
}

/** A cluster for one test, which stops and starts it. */
export interface OwnCluster extends AsyncDisposable {
  readonly url: string;
  /** Ends it without a shutdown, as a power failure would. */
  kill(): void;
  start(): Promise<void>;
}

/** A cluster that keeps what it has answered, whatever happens to its machine. */
export interface DurableCluster extends AsyncDisposable {
  readonly url: string;
  readonly isRunning: boolean;
  /** Kills every process of it at once. */
  kill(): void;
  start(): void;
}

/** Makes a cluster in a folder, and starts it. The folder must be empty, and its way open to all users. */
export async function durablePostgres(folder: string): Promise<DurableCluster> {
  makeCluster(folder);
  const port = await freePort();
  const pidFile = join(folder, 'data/postmaster.pid');
  const start = () => {
    startServer(folder, port, []);
    return Number(readFileSync(pidFile, 'utf8').split('\n', 1)[0]);
  };
  let pid = start();
  const kill = () => {
    // It would start others in the place of those that are killed.
    process.kill(pid, 'SIGSTOP');
    const all = [...childrenOf(pid), pid];
    for (const one of all) process.kill(one, 'SIGKILL');
    // Until then they keep the port.
    while (all.some(hasCommand)) Bun.sleepSync(LOOK_MS);
  };
  return {
    url: urlOf(port, 'postgres'),
    get isRunning() {
      return hasCommand(pid);
    },
    kill,
    start() {
      // It takes any process of this number for its own, and here the machine has not started anew.
      rmSync(pidFile, { force: true });
      pid = start();
    },
    async [Symbol.asyncDispose]() {
      if (hasCommand(pid)) kill();
    },
  };
}

/** Whether a process runs: one that has ended has no command any more, also while nobody has asked for its end. */
function hasCommand(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';
  } catch {
    return false;
  }
}

function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

export interface ClusterFiles {
  /** `pg_hba.conf`: who may connect how. */
  readonly access: string;
  /** The certificate and key of the server, and the authorities of its clients, all PEM. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string };
}

export async function ownPostgres(files?: ClusterFiles): Promise<OwnCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-postgres-'));
  makeCluster(folder);
  if (files !== undefined) writeClusterFiles(join(folder, 'data'), files);
  const port = await freePort();
  startServer(folder, port);
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    kill: () => stopServer(folder, 'immediate'),
    start: async () => startServer(folder, port),
    async [Symbol.asyncDispose]() {
      removeCluster(folder);
    },
  };
}

/** Returns the port of the cluster that all processes of a test run share. Without such a run, it ends with this process. */
async function sharedCluster(): Promise<number> {
  const shared = await oncePerRun('postgres', startCluster);
  if (shared !== undefined) return shared;
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-postgres-'));
  removeAfterwards(folder);
  return await startCluster(folder);
}

async function startCluster(folder: string): Promise<number> {
  makeCluster(folder);
  const port = await freePort();
  startServer(folder, port);
  await administer(port, 'CREATE TABLE free_databases (name TEXT PRIMARY KEY)');
  return port;
}

/** Starts a process that removes the folder when this one has ended: Bun runs nothing at the end of a test run. */
function removeAfterwards(folder: string): void {
  const [command, args] = asPostgres('pg_ctl', ['-D', 'data', '-m', 'immediate', 'stop']);
  const script =
    'pid=$0; folder=$1; shift; while kill -0 "$pid" 2>/dev/null; do sleep 1; done; "$@"; rm -rf "$folder"';
  const given = [String(process.pid), folder, command, ...args];
  spawn('sh', ['-c', script, ...given], { detached: true, stdio: 'ignore', cwd: folder }).unref();
}

function makeCluster(folder: string): void {
  chmodSync(folder, 0o700);
  const owner = postgresUser();
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  const options = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--locale=C.UTF-8'];
  runIn(folder, 'initdb', ['-D', 'data', ...options]);
}

function writeClusterFiles(data: string, { access, tls }: ClusterFiles): void {
  const settings = "ssl = on\nssl_ca_file = 'root.crt'\n";
  if (tls !== undefined) appendFileSync(join(data, 'postgresql.conf'), settings);
  const files =
    tls === undefined ? {} : { 'server.crt': tls.cert, 'server.key': tls.key, 'root.crt': tls.ca };
  const texts = { ...files, 'pg_hba.conf': access };
  const owner = postgresUser();
  for (const [name, text] of Object.entries(texts)) {
    const file = join(data, name);
    writeFileSync(file, text, { mode: 0o600 });
    if (owner !== undefined) chownSync(file, owner.uid, owner.gid);
  }
}

function startServer(folder: string, port: number, more = FAST): void {
  // Without a Unix socket: the path of one has at most 107 bytes. pg_ctl has the options split by a shell.
  const sockets = 'unix_socket_directories=';
  const settings = ['listen_addresses=127.0.0.1', sockets, 'max_connections=200', ...more];
  const options = ['-p', port, ...settings.map((setting) => `-c ${setting}`)];
  try {
    runIn(folder, 'pg_ctl', ['-D', 'data', '-o', options.join(' '), '-l', 'log', '-w', 'start']);
  } catch (cause) {
    const log = readFileSync(join(folder, 'log'), 'utf8');
    throw new Error(`PostgreSQL did not start: ${log.slice(-LOG_CHARACTERS)}`, { cause });
  }
}

function stopServer(folder: string, mode: 'immediate' | 'fast'): void {
  runIn(folder, 'pg_ctl', ['-D', 'data', '-m', mode, '-w', 'stop']);
}

function removeCluster(folder: string): void {
  try {
    stopServer(folder, 'immediate');
  } catch {
    // A test may have stopped it already.
  }
  rmSync(folder, { recursive: true, force: true });
}

type Rows = readonly Readonly<Record<string, unknown>>[];

function administer(port: number, statement: string): Promise<Rows> {
  return ask(urlOf(port, 'postgres'), statement);
}

async function ask(url: string, statement: string): Promise<Rows> {
  await using sql = new SQL(url, { max: 1 });
  return await sql.unsafe(statement);
}

/** PostgreSQL refuses to run as root: Debian's package brings a user for it. */
function postgresUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('postgres:'));
  const [, , uid, gid] = line?.split(':') ?? [];
  if (uid === undefined) throw new Error('There is no user postgres: apt-get install postgresql');
  return { uid: Number(uid), gid: Number(gid) };
}

/** The whole database as statements of SQL. */
export function dumpPostgres(url: string): string {
  return run('pg_dump', ['--inserts', '--no-owner', '--no-privileges', url], { printed: 'pipe' });
}

/** Runs a program in the folder of a cluster, whose path pg_ctl would put into the text of a shell. */
function runIn(folder: string, program: string, args: readonly string[]): void {
  run(program, args, { cwd: folder });
}

interface RunOptions {
  readonly cwd?: string;
  readonly printed?: 'ignore' | 'pipe';
}

/** Returns what the program prints, if that is kept: the server of PostgreSQL would hold a pipe open. */
function run(
  program: string,
  args: readonly string[],
  { cwd = '/', printed = 'ignore' }: RunOptions = {},
): string {
  const [command, given] = asPostgres(program, args);
  const { status, stdout, stderr, error } = spawnSync(command, given, {
    stdio: ['ignore', printed, 'pipe'],
    cwd,
    encoding: 'utf8',
  });
  if (status === 0) return stdout ?? '';
  throw new Error(`${program} failed: ${error?.message ?? stderr}`, { cause: error });
}

function asPostgres(program: string, args: readonly string[]): [string, readonly string[]] {
  const owner = postgresUser();
  const found = join(programs(), program);
  if (owner === undefined) return [found, args];
  const { uid, gid } = owner;
  return ['setpriv', [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', found, ...args]];
}

/** Whether PostgreSQL is installed. */
export function hasPostgres(): boolean {
  try {
    programs();
    return true;
  } catch {
    return false;
  }
}

/** Where initdb is; Debian keeps it out of the PATH. */
function programs(): string {
  const onPath = Bun.which('initdb');
  // A link may stand alone, without the other programs.
  if (onPath !== null) return join(realpathSync(onPath), '..');
  const root = '/usr/lib/postgresql';
  try {
    const [newest] = readdirSync(root).sort((a, b) => Number(b) - Number(a));
    if (newest !== undefined) return join(root, newest, 'bin');
  } catch (error) {
    throw new Error('PostgreSQL is not installed: apt-get install postgresql', { cause: error });
  }
  throw new Error('PostgreSQL is not installed: apt-get install postgresql');
}
