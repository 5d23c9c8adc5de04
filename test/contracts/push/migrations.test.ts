import { describe, expect, it } from 'bun:test';
import { SQL } from 'bun';
import type { DeviceId } from '../../../src/push/model/device.ts';
import { NO_CLIENT_TLS } from '../../../src/runtime/tls/certificate.ts';
import { openDatabase } from '../../../src/stores/database/database.ts';
import { inDialect } from '../../../src/stores/database/dialect.ts';
import { migrate, migrations } from '../../../src/stores/database/migrations.ts';
import { openPostgres } from '../../../src/stores/database/postgres.ts';
import { StoredAudience } from '../../../src/stores/push/devices/audience-source.ts';
import { StoredDevices } from '../../../src/stores/push/devices/device-store.ts';
import { readCounts } from '../../../src/stores/push/devices/instance-counts.ts';
import { newDatabases } from '../../../testing/databases/databases.ts';
import { throwAwayPostgres } from '../../../testing/databases/postgres.ts';
import { NOW_MS, newDevice } from './device-store.contract.ts';

/** Creates the tables of the version before a column, and fills them. */
async function makeBefore(url: string, column: string, rows: readonly string[]): Promise<void> {
  const dialect = url.startsWith('sqlite:') ? 'sqlite' : 'postgres';
  await using sql =
    dialect === 'sqlite'
      ? new SQL({ adapter: 'sqlite', filename: url.slice('sqlite:'.length), create: true })
      : new SQL(url);
  const before = migrations.findIndex((statements) => statements.join().includes(column));
  expect(before).toBeGreaterThan(0);
  await sql.unsafe('CREATE TABLE migrations (number INTEGER PRIMARY KEY)');
  for (const [index, statements] of migrations.slice(0, before).entries()) {
    for (const statement of statements) await sql.unsafe(inDialect(dialect, statement));
    await sql`INSERT INTO migrations (number) VALUES (${index + 1})`;
  }
  for (const row of rows) await sql.unsafe(row);
}

const deviceRow = (number: number, instance: number, id: DeviceId) =>
  `INSERT INTO devices (number, instance, id, platform, token_identity, registered_at, seen_at,
    token, metadata, sdk)
  VALUES (${number}, ${instance}, '${id}', 'fcm', 'i${number}', 1, 1, 't${number}', '{}', '')`;

const interestRow = (instance: number, interest: string, device: number) =>
  `INSERT INTO device_interests (instance, interest, device)
    VALUES (${instance}, '${interest}', ${device})`;

describe.each(newDatabases)('a store of an older version in $name', ({ make }) => {
  it('counts its devices as accepted, and counts its interests', async () => {
    await using place = await make();
    const ids = [newDevice().id, newDevice().id, newDevice().id] as const;
    await makeBefore(place.url, 'accepted_at', [
      "INSERT INTO instance_numbers (number, id, devices) VALUES (7, 'a', 2), (8, 'b', 1)",
      ...ids.map((id, index) => deviceRow(101 + index, index < 2 ? 7 : 8, id)),
      interestRow(7, 'x', 101),
      interestRow(7, 'y', 101),
      interestRow(7, 'x', 102),
    ]);

    await using database = await openDatabase(place.url);
    expect(await readCounts(database.read, 7)).toEqual({ devices: 2, accepted: 2, interests: 3 });
    expect(await readCounts(database.read, 8)).toEqual({ devices: 1, accepted: 1, interests: 0 });
    const [audience, devices] = [new StoredAudience(database), new StoredDevices(database)];
    expect(await audience.recipients(7, [101, 102])).toMatchObject([
      { isTrusted: true },
      { isTrusted: true },
    ]);
    await devices.delete({ instance: 7, id: ids[0] });
    const device = newDevice();
    await devices.register({ instance: 7, device, nowMs: NOW_MS });
    expect(await readCounts(database.read, 7)).toMatchObject({ devices: 2, accepted: 1 });
  });
});

describe('the migrations of a store in PostgreSQL', () => {
  it('have no statement timeout', async () => {
    await using place = await throwAwayPostgres();
    const backend = await openPostgres(place.url, { tls: NO_CLIENT_TLS, answerTimeoutMs: 2_000 });
    await using other = new SQL(place.url);
    const released = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const holding = other.begin(async (sql) => {
      await sql`SELECT pg_advisory_xact_lock(hashtextextended('fanfare migrations', 0))`;
      held.resolve();
      await released.promise;
    });
    await held.promise;

    const migrating = migrate(backend);
    for (let waits = false; !waits; ) {
      const [row]: { waits: boolean }[] = await other`
        SELECT EXISTS (
          SELECT 1 FROM pg_stat_activity
          WHERE wait_event_type = 'Lock' AND clock_timestamp() - query_start > interval '2200 ms')
        AS waits FROM pg_sleep(0.05)`;
      waits = row?.waits ?? false;
    }
    released.resolve();
    await holding;
    await migrating;
    await backend.close();
    await using database = await openDatabase(place.url);
    expect(await readCounts(database.read, 1)).toEqual({ devices: 0, accepted: 0, interests: 0 });
  });
});
