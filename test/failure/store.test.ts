import { Database } from 'bun:sqlite';
import { describe, expect, it } from 'bun:test';
import {
  closeSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { APP, configOf, type Fanfare, startFanfare } from '../support/fanfare.ts';
import { RawClient } from '../support/raw-client.ts';
import { restart } from '../support/restart.ts';
import { trigger } from '../support/sign.ts';

const LONG_MS = 60_000;

/** Longer than the pauses between two looks at the store; shorter than a test may take. */
const SOON_MS = 10_000;

const storeOf = (directory: string) => join(directory, 'fanfare.db');

/** What `/readyz` says. */
async function readiness(server: Fanfare): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${server.adminPort}/readyz`);
  return `${response.status} ${await response.text()}`;
}

/** Asks again until the answer fits, while events go on: each is one more reason to write. */
async function becomes(server: Fanfare, wanted: RegExp, meanwhile: () => Promise<void>) {
  const deadline = Date.now() + SOON_MS;
  for (;;) {
    await meanwhile();
    const said = await readiness(server);
    if (wanted.test(said)) return said;
    if (Date.now() > deadline) throw new Error(`/readyz never said ${wanted}, but ${said}`);
  }
}

/** Triggers events that one client must hear, each as soon as the one before was heard. */
async function chat(server: Fanfare) {
  const client = await RawClient.connect(server);
  await client.subscribes('news');
  let said = 0;
  return {
    /** One request and one delivery: two messages of the app's usage. */
    async say() {
      const data = String(said++);
      await trigger(server, { name: 'e', channel: 'news', data });
      expect(await client.hears()).toMatchObject({ event: 'e', data });
    },
    get messages() {
      return said * 2;
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

/** What the store says was used, once nobody writes any more. */
function usageIn(directory: string): number {
  using database = new Database(storeOf(directory));
  const row = database
    .query<{ messages: number }, [string]>(
      'SELECT SUM(messages) AS messages FROM usage_days WHERE app_id = ?',
    )
    .get(APP.id);
  return row?.messages ?? 0;
}

/** Errors of the log that speak of the store. */
function complaints(server: Fanfare): string[] {
  return server.output.stderr
    .split('\n')
    .filter((line) => line.includes('"level":"error"'))
    .map((line) => JSON.parse(line).message);
}

/** Holds the write lock of the server's store, in another process. */
async function holdStore(server: Fanfare): Promise<AsyncDisposable> {
  const holder = Bun.spawn(
    [process.execPath, `${import.meta.dir}/store-holder.fixture.ts`, storeOf(server.directory)],
    { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' },
  );
  for await (const _ of holder.stdout) break;
  return {
    async [Symbol.asyncDispose]() {
      holder.stdin.end();
      await holder.exited;
    },
  };
}

/** How large a file the server may write from now on. The system then refuses what is beyond, as a full disk. */
async function limitFileSize(server: Fanfare, bytes: number | 'unlimited'): Promise<void> {
  const limit = Bun.spawn(
    ['prlimit', `--pid=${server.process.pid}`, `--fsize=${bytes}:unlimited`],
    { stderr: 'inherit' },
  );
  expect(await limit.exited).toBe(0);
}

/** Overwrites all of a file but its first page. */
function damage(file: string): void {
  const { size } = statSync(file);
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, Buffer.alloc(size - 4096, 0xa5), 0, size - 4096, 4096);
  closeSync(descriptor);
}

/** Webhooks that nobody takes: they are to be written, too. */
const WITH_WEBHOOKS = {
  app: { webhooks: [{ url: 'http://127.0.0.1:9/', events: ['channel_occupied'] }] },
};

describe('a server whose store', () => {
  it.concurrent(
    'is locked goes on delivering, says so once, and keeps all usage once it is free',
    async () => {
      await using server = await startFanfare(WITH_WEBHOOKS);
      await using talk = await chat(server);
      await talk.say();
      expect(await readiness(server)).toBe('200 ready\n');
      {
        await using _lock = await holdStore(server);
        expect(await becomes(server, /^503/, talk.say)).toMatch(/store: database is locked/);
        // It stays so, over several attempts to write.
        for (let n = 0; n < 3; n++) {
          await using passing = await RawClient.connect(server);
          await passing.subscribes(`passing-${n}`);
          const before = Date.now();
          while (Date.now() - before < 1200) await talk.say();
          expect(await readiness(server)).toStartWith('503');
        }
      }
      expect(await becomes(server, /^200/, talk.say)).toBe('200 ready\n');
      await server.logged(/The store works again/);
      const told = complaints(server);
      expect(told).toContain('Usage cannot be kept');
      expect(told).toHaveLength(new Set(told).size);

      expect(await server.stop()).toBe(0);
      expect(usageIn(server.directory)).toBeGreaterThanOrEqual(talk.messages);
    },
    LONG_MS,
  );

  // What sets the limit of another process is there on Linux only.
  it.concurrent.if(process.platform === 'linux')(
    'is full goes on delivering, says so once, and keeps all usage once there is room',
    async () => {
      await using server = await startFanfare({
        ...WITH_WEBHOOKS,
        program: `${import.meta.dir}/full-disk-server.fixture.ts`,
      });
      await using talk = await chat(server);
      await talk.say();
      await limitFileSize(server, 0);
      expect(await becomes(server, /^503/, talk.say)).toMatch(
        /store: (database or disk is full|disk I\/O error)/,
      );
      const before = Date.now();
      while (Date.now() - before < 2500) await talk.say();
      expect(await readiness(server)).toStartWith('503');

      await limitFileSize(server, 'unlimited');
      expect(await becomes(server, /^200/, talk.say)).toBe('200 ready\n');
      const told = complaints(server);
      expect(told).toContain('Usage cannot be kept');
      expect(told).toHaveLength(new Set(told).size);

      expect(await server.stop()).toBe(0);
      expect(usageIn(server.directory)).toBeGreaterThanOrEqual(talk.messages);
    },
    LONG_MS,
  );

  it.concurrent(
    'is damaged while it runs goes on delivering, is not ready, and does not start again',
    async () => {
      await using server = await startFanfare(WITH_WEBHOOKS);
      await using talk = await chat(server);
      await talk.say();
      {
        // The server trusts its own memory until somebody else writes.
        using other = new Database(storeOf(server.directory));
        other.exec('PRAGMA busy_timeout = 5000; PRAGMA wal_checkpoint(TRUNCATE)');
        other.exec('BEGIN IMMEDIATE; UPDATE revisions SET revision = revision + 1');
        damage(storeOf(server.directory));
        other.exec('COMMIT');
      }

      expect(await becomes(server, /^503/, talk.say)).toMatch(
        /store: .*(malformed|not a database|I\/O error)/,
      );
      const before = Date.now();
      while (Date.now() - before < 1500) await talk.say();
      const told = complaints(server);
      expect(told).toHaveLength(new Set(told).size);

      await expect(restart(server, 'SIGKILL')).rejects.toThrow(/(damaged|cannot be opened)/);
    },
    LONG_MS,
  );

  it.concurrent.each([
    ['in its middle', (file: string) => damage(file)],
    ['from its beginning', (file: string) => writeFileSync(file, Buffer.alloc(8192, 0xa5))],
  ])('is damaged %s does not start: exit code 1 and one line', async (_, spoil) => {
    const directory = mkdtempSync(join(tmpdir(), 'fanfare-damaged-'));
    {
      await using server = await startFanfare();
      expect(await server.stop()).toBe(0);
      await Bun.write(storeOf(directory), Bun.file(storeOf(server.directory)));
    }
    spoil(storeOf(directory));
    const config = join(directory, 'config.json');
    writeFileSync(config, JSON.stringify(configOf(directory)));

    const child = Bun.spawn(
      [process.execPath, `${import.meta.dir}/../../src/main.ts`, 'serve', '--config', config],
      { cwd: directory, stdout: 'pipe', stderr: 'pipe' },
    );

    expect(await child.exited).toBe(1);
    const said = await child.stderr.text();
    expect(said).toMatch(/^fanfare: The store sqlite:.*(damaged|cannot be opened).*\n$/);
    expect(await child.stdout.text()).toBe('');
    rmSync(directory, { recursive: true });
  });
});
