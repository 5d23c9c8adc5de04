import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { trigger } from '../../testing/clients/sign.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';

/** Between two events or two looks, so that waiting does not keep a processor busy. */
const PAUSE_MS = 20;

/** Longer than the pauses between two looks at the store; shorter than a test may take. */
const SOON_MS = 10_000;

/** What `/readyz` says. */
export async function readiness(server: Fanfare): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${server.adminPort}/readyz`);
  return `${response.status} ${await response.text()}`;
}

/** Asks again until the answer fits, while events continue: each is one more reason to write. */
export async function becomes(server: Fanfare, wanted: RegExp, meanwhile: () => Promise<void>) {
  const deadline = Date.now() + SOON_MS;
  for (;;) {
    await meanwhile();
    const said = await readiness(server);
    if (wanted.test(said)) return said;
    await Bun.sleep(PAUSE_MS);
    if (Date.now() > deadline) throw new Error(`/readyz never said ${wanted}, but ${said}`);
  }
}

/** Triggers events that one client must receive, each as soon as the one before was received. */
export async function chat(server: Fanfare) {
  const client = await RawClient.connect(server);
  await client.subscribe('news');
  let said = 0;
  return {
    /** One request and one delivery: two messages of the app's usage. */
    async say() {
      const data = String(said++);
      await Bun.sleep(PAUSE_MS);
      await trigger(server, { name: 'e', channel: 'news', data });
      expect(await client.receive()).toMatchObject({ event: 'e', data });
    },
    get messages() {
      return said * 2;
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

/** Errors of the log, with their subject if they name one. */
export function complaints(server: Fanfare): string[] {
  return server.output.stderr
    .split('\n')
    .filter((line) => line.includes('"level":"error"'))
    .map((line) => JSON.parse(line))
    .map(({ message, what }) => (what === undefined ? message : `${message}: ${what}`));
}

/** The file of a store in the directory of a server. */
export function storeOf(directory: string): string {
  return join(directory, 'fanfare.db');
}

/** Holds the write lock of the server's store, in another process. */
export async function holdStore(server: Fanfare): Promise<AsyncDisposable> {
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
export async function limitFileSize(server: Fanfare, bytes: number | 'unlimited'): Promise<void> {
  const limit = Bun.spawn(
    ['prlimit', `--pid=${server.process.pid}`, `--fsize=${bytes}:unlimited`],
    { stderr: 'inherit' },
  );
  expect(await limit.exited).toBe(0);
}

/** Overwrites a file but for its first pages: one, or a share of them. */
export function damage(file: string, kept = 0): void {
  const { size } = statSync(file);
  const from = Math.max(1, Math.floor((size / PAGE_BYTES) * kept)) * PAGE_BYTES;
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, Buffer.alloc(size - from, 0xa5), 0, size - from, from);
  closeSync(descriptor);
}

/** The same to a file that is in use. SQLite trusts its own cache until another process writes. */
export function damageInUse(file: string, kept?: number): void {
  using other = new Database(file);
  other.exec('PRAGMA busy_timeout = 5000; PRAGMA wal_checkpoint(TRUNCATE)');
  other.exec('BEGIN IMMEDIATE; UPDATE revisions SET revision = revision + 1');
  damage(file, kept);
  other.exec('COMMIT');
}

const PAGE_BYTES = 4096;
