import { Database } from 'bun:sqlite';
import { describe, expect, it } from 'bun:test';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { APP, configOf, PROGRAM, startFanfare } from '../../testing/servers/fanfare.ts';
import { restart } from '../../testing/servers/restart.ts';
import {
  becomes,
  chat,
  complaints,
  damage,
  damageInUse,
  holdStore,
  limitFileSize,
  readiness,
  storeOf,
} from './store-trouble.ts';

const LONG_MS = 180_000;

/** Usage in the store, after the server has ended. */
function usageIn(directory: string): number {
  using database = new Database(storeOf(directory));
  const row = database
    .query<{ messages: number }, [string]>(
      'SELECT SUM(messages) AS messages FROM usage_days WHERE app_id = ?',
    )
    .get(APP.id);
  return row?.messages ?? 0;
}

/** Webhooks to an endpoint that is down, so that they are written to the store as well. */
const WITH_WEBHOOKS = {
  app: { webhooks: [{ url: 'http://127.0.0.1:9/', events: ['channel_occupied'] }] },
};

describe('a server whose store', () => {
  it.concurrent(
    'is locked continues to deliver, logs that once, and keeps all usage once it is free',
    async () => {
      await using server = await startFanfare(WITH_WEBHOOKS);
      await using talk = await chat(server);
      await becomes(server, /^200/, talk.say);
      {
        await using _lock = await holdStore(server);
        expect(await becomes(server, /^503.*store:/s, talk.say)).toMatch(
          /store: another process holds the store locked \(/,
        );
        // It stays so, over several attempts to write.
        for (let n = 0; n < 3; n++) {
          await using passing = await RawClient.connect(server);
          await passing.subscribe(`passing-${n}`);
          const before = Date.now();
          while (Date.now() - before < 1200) await talk.say();
          expect(await readiness(server)).toStartWith('503');
        }
      }
      expect(await becomes(server, /^200/, talk.say)).toBe('200 ready\n');
      await server.logged(/The store works again/);
      const warned = complaints(server);
      expect(warned).toContain('Usage cannot be written to the store');
      expect(warned).toEqual([...new Set(warned)]);

      expect(await server.stop()).toBe(0);
      expect(usageIn(server.directory)).toBeGreaterThanOrEqual(talk.messages);
    },
    LONG_MS,
  );

  // What sets the limit of another process is there on Linux only.
  it.concurrent.if(process.platform === 'linux')(
    'is full continues to deliver, logs that once, and keeps all usage once there is room',
    async () => {
      await using server = await startFanfare({
        ...WITH_WEBHOOKS,
        program: `${import.meta.dir}/full-disk-server.fixture.ts`,
      });
      await using talk = await chat(server);
      await talk.say();
      await limitFileSize(server, 0);
      expect(await becomes(server, /^503.*store:/s, talk.say)).toMatch(
        /store: the disk (is full|cannot be read or written)/,
      );
      const before = Date.now();
      while (Date.now() - before < 2500) await talk.say();
      expect(await readiness(server)).toStartWith('503');

      await limitFileSize(server, 'unlimited');
      expect(await becomes(server, /^200/, talk.say)).toBe('200 ready\n');
      const warned = complaints(server);
      expect(warned).toContain('Usage cannot be written to the store');
      expect(warned).toEqual([...new Set(warned)]);

      expect(await server.stop()).toBe(0);
      expect(usageIn(server.directory)).toBeGreaterThanOrEqual(talk.messages);
    },
    LONG_MS,
  );

  it.concurrent(
    'is damaged while it runs continues to deliver, is not ready, and does not start again',
    async () => {
      await using server = await startFanfare(WITH_WEBHOOKS);
      await using talk = await chat(server);
      await talk.say();
      damageInUse(storeOf(server.directory));

      expect(await becomes(server, /^503.*store:/s, talk.say)).toMatch(
        /store: (the store is damaged|the disk cannot be read or written)/,
      );
      const before = Date.now();
      while (Date.now() - before < 1500) await talk.say();
      const warned = complaints(server);
      expect(warned).toEqual([...new Set(warned)]);

      await expect(restart(server, 'SIGKILL')).rejects.toThrow(/(damaged|cannot be opened)/);
    },
    LONG_MS,
  );

  it.concurrent(
    'is taken away continues to deliver, is not ready, and is ready again once it is put back',
    async () => {
      await using server = await startFanfare(WITH_WEBHOOKS);
      await using talk = await chat(server);
      await talk.say();
      await becomes(server, /^200/, talk.say);
      const file = storeOf(server.directory);
      renameSync(file, `${file}.away`);
      expect(await becomes(server, /^503.*store:/s, talk.say)).toBe(
        `503 not ready\nstore: the store's file was removed or replaced while the server was running (store)\n`,
      );
      writeFileSync(file, 'another one');
      expect(await becomes(server, /^503.*store:/s, talk.say)).toContain('was removed or replaced');
      renameSync(`${file}.away`, file);
      expect(await becomes(server, /^200/, talk.say)).toBe('200 ready\n');
      await server.logged(/The store works again/);
      expect(complaints(server)).toEqual(['The store does not work']);
      expect(await server.stop()).toBe(0);
      expect(usageIn(server.directory)).toBeGreaterThanOrEqual(talk.messages);
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

    const child = Bun.spawn([process.execPath, PROGRAM, 'serve', '--config', config], {
      cwd: directory,
      stdout: 'pipe',
      stderr: 'pipe',
    });

    expect(await child.exited).toBe(1);
    // Beside lines of the log.
    const said = (await child.stderr.text()).replace(/^\{.*\n/gm, '');
    expect(said).toMatch(/^fanfare: The store sqlite:.*(damaged|cannot be opened).*\n$/);
    expect(await child.stdout.text()).toBe('');
    rmSync(directory, { recursive: true });
  });
});
