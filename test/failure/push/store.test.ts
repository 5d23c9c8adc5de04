import { Database } from 'bun:sqlite';
import { describe, expect, it } from 'bun:test';
import { renameSync } from 'node:fs';
import {
  markedPublish,
  newMarker,
  PushConnection,
  PushRequests,
} from '../../../testing/clients/push-requests.ts';
import type { RawRequest } from '../../../testing/clients/raw-http.ts';
import { restart } from '../../../testing/servers/restart.ts';
import {
  becomes,
  complaints,
  damageInUse,
  holdStore,
  limitFileSize,
  storeOf,
} from '../store-trouble.ts';
import {
  acceptSome,
  allRequests,
  expectKept,
  expectPublishes,
  expectRefused,
  expectUnavailable,
  publishesUntil,
  startPush,
} from './trouble.ts';

const LONG_MS = 180_000;

const requests = new PushRequests();

/** What a publish needs so that the store keeps much of it, and for long. */
const LARGE_AND_LATER = {
  web: { data: { filler: 'x'.repeat(2000) } },
  sendAt: new Date(Date.now() + 86_400_000).toISOString(),
};

const nothing = async () => undefined;

describe('the push side of a server whose store', () => {
  it.concurrent(
    'is locked refuses for now, and works again once it is free',
    async () => {
      await using server = await startPush();
      const accepted = await acceptSome(server);
      {
        await using _lock = await holdStore(server);
        await publishesUntil(server, 503);
        const why = /another process holds the store locked/;
        await duringSeveralLooks(() => expectRefused(server, allRequests(accepted), why));
        expect(await becomes(server, /^503.*store:/s, nothing)).toMatch(why);
      }
      const ids = await publishesUntil(server, 200);
      await expectKept(server, accepted);
      await expectPublishes(server, ids);
      expect(await becomes(server, /^200/, nothing)).toBe('200 ready\n');
      expect(complaints(server)).toEqual(['The store does not work']);
    },
    LONG_MS,
  );

  // What sets the limit of another process is there on Linux only.
  it.concurrent.if(process.platform === 'linux')(
    'is full refuses for now, and works again once there is room',
    async () => {
      const program = `${import.meta.dir}/../full-disk-server.fixture.ts`;
      await using server = await startPush({}, { program });
      const accepted = await acceptSome(server);
      await limitFileSize(server, 0);
      await publishesUntil(server, 503);
      const why = /the disk (?:is full|cannot be read or written)/;
      await duringSeveralLooks(() => expectRefused(server, allRequests(accepted), why));
      expect(await becomes(server, /^503.*store:/s, nothing)).toMatch(why);

      await limitFileSize(server, 'unlimited');
      const ids = await publishesUntil(server, 200);
      await expectKept(server, accepted);
      await expectPublishes(server, ids);
      expect(await becomes(server, /^200/, nothing)).toBe('200 ready\n');
      expect(complaints(server)).toEqual(['The store does not work']);
    },
    LONG_MS,
  );

  it.concurrent(
    'is taken away refuses for now, and has everything once it is put back',
    async () => {
      await using server = await startPush();
      const accepted = await acceptSome(server);
      const file = storeOf(server.directory);
      renameSync(file, `${file}.away`);
      const ids = await publishesUntil(server, 503);
      const why = /the store's file was removed or replaced while the server was running/;
      await expectRefused(server, allRequests(accepted), why);
      expect(await becomes(server, /^503.*store:/s, nothing)).toMatch(why);

      renameSync(`${file}.away`, file);
      ids.push(...(await publishesUntil(server, 200)));
      await expectKept(server, accepted);
      await expectPublishes(server, ids);
      await using again = await restart(server, 'SIGKILL');
      await expectKept(again, accepted);
      await expectPublishes(again, ids);
    },
    LONG_MS,
  );

  it.concurrent(
    'is damaged in its middle refuses, logs that once, and does not start again',
    async () => {
      await using server = await startPush();
      await using connection = await PushConnection.open(server);
      const reads: RawRequest[] = [];
      for (let n = 0; n < 60; n++) {
        const { id } = await connection.requestOk(requests.registerFcm(`fcm:${n}`));
        const body = { ...markedPublish(newMarker()), ...LARGE_AND_LATER };
        const { publishId } = await connection.requestOk(requests.publish(body));
        reads.push(requests.readDevice(String(id)), requests.readPublish(String(publishId)));
      }
      const accepted = await acceptSome(server);
      damageInUse(storeOf(server.directory), 0.5);

      const why = /the store is damaged/;
      const all = [...reads, ...allRequests(accepted)];
      for (let refused = 0; refused === 0; ) {
        for (const request of reads) {
          const received = await connection.request(request);
          if (received.status === 200) continue;
          expectUnavailable(received, why);
          refused += 1;
        }
      }
      await duringSeveralLooks(() => expectRefused(server, all, why));
      expect(await becomes(server, /^503.*store:/s, nothing)).toMatch(why);
      // What reads the damaged page meets it first, such as the list of apps. None says it twice.
      const logged = complaints(server);
      expect(logged).toContain('The store does not work');
      expect(logged).toEqual([...new Set(logged)]);
      await expect(restart(server, 'SIGKILL')).rejects.toThrow(/is damaged, restore it from/);
    },
    LONG_MS,
  );

  it.concurrent(
    'is emptied refuses until it is started again',
    async () => {
      await using server = await startPush();
      const accepted = await acceptSome(server);
      {
        using other = new Database(storeOf(server.directory));
        other.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE');
        for (const table of tablesOf(other)) other.exec(`DELETE FROM ${table}`);
        other.exec('COMMIT');
      }
      // At once, although the store was not checked since.
      await expectRefused(server, allRequests(accepted), /the store has lost .*/);
      const said = await becomes(server, /^503.*store:/s, nothing);
      expect(said).toContain('store: the store has lost its contents; restart the server (');
      await expectRefused(
        server,
        allRequests(accepted),
        /the store has lost its contents; restart the server/,
      );
      await using again = await restart(server);
      await expectKept(again, await acceptSome(again));
    },
    LONG_MS,
  );
});

/** Asks again and again, so long that the server has looked twice at least whether its store works again. */
async function duringSeveralLooks(ask: () => Promise<void>): Promise<void> {
  const beganMs = performance.now();
  while (performance.now() - beganMs < 2200) {
    await ask();
    await Bun.sleep(100);
  }
}

function tablesOf(database: Database): readonly string[] {
  return database
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'migrations'",
    )
    .all()
    .map(({ name }) => name);
}
