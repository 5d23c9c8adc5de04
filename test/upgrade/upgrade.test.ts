import { describe, expect, it } from 'bun:test';
import { SQL } from 'bun';
import { StoredCertificates } from '../../src/stores/certificates/certificate-store.ts';
import { openDatabase } from '../../src/stores/database/database.ts';
import { admin } from '../../testing/clients/admin-api.ts';
import { PushConnection, PushRequests } from '../../testing/clients/push-requests.ts';
import { newDatabases } from '../../testing/databases/databases.ts';
import { eventually } from '../../testing/eventually.ts';
import { startFanfare } from '../../testing/servers/fanfare.ts';
import { TestApp } from '../../testing/servers/test-app.ts';
import { startAround } from './around.ts';
import {
  BUSY_TOKEN,
  CERTIFICATE_SUBJECT,
  NEWS,
  optionsOf,
  PHONES,
  SCHEDULED_MS,
  SHOP,
  USER,
  WAITING_CHANNEL,
  withPassword,
} from './made-up-data.ts';
import { loadRelease, type StoredRelease, storedReleases } from './stored-release.ts';

type Rows = readonly Readonly<Record<string, unknown>>[];

async function open(release: StoredRelease) {
  await using parts = new AsyncDisposableStack();
  const database = newDatabases.find(({ name }) => name.toLowerCase().startsWith(release.dialect));
  if (database === undefined) throw new Error(`No database for ${release.dialect}`);
  const { url } = parts.use(await database.make());
  const around = parts.use(await startAround());
  // What was scheduled is due now.
  const stoppedAtMs = Date.now() - SCHEDULED_MS;
  await loadRelease(release, url, { stoppedAtMs, places: around.places });
  const running = parts.move();
  return { url, around, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

async function tablesOf(sql: SQL): Promise<readonly string[]> {
  const rows: { name: string }[] =
    sql.options.adapter === 'postgres'
      ? await sql`SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`
      : await sql`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`;
  return rows.map(({ name }) => name);
}

async function allRows(url: string): Promise<ReadonlyMap<string, Rows>> {
  await using sql = new SQL(url, { max: 1 });
  const read: [string, Rows][] = [];
  for (const table of await tablesOf(sql)) {
    read.push([table, await sql.unsafe(`SELECT * FROM ${table}`)]);
  }
  return new Map(read);
}

/** How rows differ that were there before, in the columns that were there before. */
function lost(before: ReadonlyMap<string, Rows>, after: ReadonlyMap<string, Rows>): object {
  const differences: Record<string, object> = {};
  for (const [table, rows] of before) {
    const names = Object.keys(rows[0] ?? {});
    const text = (row: Rows[number]) => JSON.stringify(names.map((name) => row[name]));
    const kept = new Set((after.get(table) ?? []).map(text));
    const missing = rows.filter((row) => !kept.has(text(row)));
    if (missing.length > 0) differences[table] = missing;
  }
  return differences;
}

const RELEASES = await storedReleases();

describe.each(RELEASES.map((one) => [`${one.release} in ${one.dialect}`, one] as const))(
  'a store of %s',
  (_, release) => {
    it('loses nothing when it is opened', async () => {
      await using store = await open(release);
      const before = await allRows(store.url);
      expect([...before.values()].flat().length).toBeGreaterThan(60);
      await using database = await openDatabase(store.url);
      expect(lost(before, await allRows(store.url))).toEqual({});
      const { certificate } = await new StoredCertificates(database).read();
      expect(certificate).toMatchObject({ subject: CERTIFICATE_SUBJECT });
    });

    it('is served, and what it had scheduled continues', async () => {
      await using store = await open(release);
      const { around, url } = store;
      const devices = (await allRows(url)).get('devices') ?? [];
      await using started = await startFanfare(optionsOf(url));
      const server = withPassword(started);

      // The webhook that waited.
      const waited = await around.endpoint.events.next();
      expect(waited).toMatchObject({ name: 'channel_occupied', channel: WAITING_CHANNEL });

      // The scheduled publishes, one of which asks for connections first, and the device that was to be tried again.
      const tokens: string[] = [];
      while (tokens.length < 4) tokens.push(await around.arrived.next());
      const [mine, other] = ['ab'.repeat(32), 'cd'.repeat(32)];
      expect(tokens.toSorted()).toEqual([mine, mine, other, BUSY_TOKEN]);

      const app = new TestApp(server, SHOP);
      await using client = await app.connect();
      await client.subscribe('news');
      await app.trigger({ name: 'sold', channel: 'news', data: '1' });
      expect(await client.receive()).toMatchObject({ event: 'sold', channel: 'news', data: '1' });
      expect((await admin(server, 'GET', '/apps/72')).json).toMatchObject({ enabled: false });
      expect((await admin(server, 'GET', '/audit')).text).toContain('createInstance');

      const requests = new PushRequests(PHONES);
      await using connection = await PushConnection.open(server);
      const again = requests.publish(NEWS.body, { idempotencyKey: NEWS.idempotencyKey });
      const { publishId } = await connection.requestOk(again);
      const status = await connection.requestOk(requests.readPublish(String(publishId)));
      expect(status).toMatchObject({
        state: 'finished',
        platforms: { apns: { accepted: 2 }, fcm: { accepted: 1, pruned: 1 } },
      });
      const [phone] = devices.filter(({ user_id }) => user_id === USER);
      const interests = await connection.requestOk(requests.readInterests(String(phone?.['id'])));
      expect(interests).toMatchObject({ interests: ['news', 'tomorrow'] });
      const toUser = { users: [USER], apns: NEWS.body.apns };
      const { publishId: sent } = await connection.requestOk(requests.publish(toUser));
      const finished = await eventually(
        () => connection.requestOk(requests.readPublish(String(sent))),
        ({ state }) => state === 'finished',
      );
      expect(finished).toMatchObject({ platforms: { apns: { accepted: 1 } } });
      expect(started.output.stderr).not.toMatch(/"level":"(?:error|fatal)"/);
    });
  },
);
