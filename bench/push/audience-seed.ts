import { statSync } from 'node:fs';
import { SQL } from 'bun';
import type { Dialect } from '../../src/stores/database/dialect.ts';
import {
  type Crowd,
  type Crowds,
  DEVICES_OF_USER,
  INTEREST_PREFIX,
  USER_PREFIX,
} from './crowds.ts';

/** Rows that one statement makes, roughly. */
const ROWS_AT_ONCE = 500_000;

/** When all devices have registered. Unix time, milliseconds. */
const REGISTERED_AT_MS = 1_760_000_000_000;

const METADATA = JSON.stringify({ sdkVersion: '1.9.2', androidVersion: '14' });
const SDK = 'pusher-push-notifications-android 1.9.2';

/** What seeding has cost. */
export interface Seeded {
  readonly seconds: number;
  /** On disk for one device, its indexes included and its interests not. */
  readonly bytesPerDevice: number;
  /** On disk for one interest of one device. */
  readonly bytesPerInterest: number;
}

/** A database whose tables are there and empty, for one who fills it faster than a server does. */
export interface SeedingDatabase extends AsyncDisposable {
  readonly dialect: Dialect;
  readonly sql: SQL;
  /** What the database takes on disk, all that was written to it so far. */
  bytes(): Promise<number>;
}

export async function openForSeeding(url: string): Promise<SeedingDatabase> {
  const filename = /^sqlite:(.+)$/.exec(url)?.[1];
  if (filename === undefined) return openPostgres(url);
  const sql = new SQL({ adapter: 'sqlite', filename });
  // Nothing that is lost with the power is missed here, and two of the indexes are filled in no order.
  await sql.unsafe('PRAGMA synchronous = OFF');
  await sql.unsafe('PRAGMA cache_size = -1000000');
  return {
    dialect: 'sqlite',
    sql,
    async bytes() {
      await sql.unsafe('PRAGMA wal_checkpoint(TRUNCATE)');
      return statSync(filename).size;
    },
    [Symbol.asyncDispose]: () => sql.close(),
  };
}

function openPostgres(url: string): SeedingDatabase {
  const sql = new SQL(url, { max: 1 });
  return {
    dialect: 'postgres',
    sql,
    async bytes() {
      // What a server's own autovacuum does after so many rows.
      await sql.unsafe('VACUUM ANALYZE devices, device_interests');
      const rows: { bytes: string }[] =
        await sql`SELECT pg_database_size(current_database()) AS bytes`;
      return Number(rows[0]?.bytes ?? 0);
    },
    [Symbol.asyncDispose]: () => sql.close(),
  };
}

/**
 * Fills the tables as registrations would have: devices in the order of their numbers, and the interests of one
 * device after those of another, so that indexes are as full and as scattered as they would be.
 */
export async function seed(database: SeedingDatabase, { wide, deep }: Crowds): Promise<Seeded> {
  const startMs = performance.now();
  const emptyBytes = await database.bytes();
  await seedDevices(database, wide);
  const devicesBytes = await database.bytes();
  await seedInterests(database, wide);
  const interestsBytes = await database.bytes();

  await seedDevices(database, deep);
  await seedInterests(database, deep);
  await database.bytes();
  return {
    seconds: (performance.now() - startMs) / 1000,
    bytesPerDevice: (devicesBytes - emptyBytes) / wide.devices,
    bytesPerInterest: (interestsBytes - devicesBytes) / (wide.devices * wide.interests),
  };
}

async function seedDevices({ dialect, sql }: SeedingDatabase, crowd: Crowd): Promise<void> {
  const { instance, devices } = crowd;
  await sql`INSERT INTO instance_numbers (number, id, devices)
    VALUES (${instance}, ${`bench-${instance}`}, ${devices})`;
  const hex = randomHex[dialect];
  // As long as real ones are: 40 characters of an id, 163 of an FCM token, 64 of its hash.
  const id = `'fcm-' || ${hex(36)}`;
  const token = `${hex(22)} || ':APA91b' || ${hex(134)}`;
  for (const numbers of stretches(crowd, ROWS_AT_ONCE)) {
    await sql.unsafe(`
      INSERT INTO devices (number, instance, id, platform, token_identity, user_id,
        registered_at, seen_at, bundle_id, token, metadata, sdk)
      ${numbers}
      SELECT number, ${instance}, ${id}, 'fcm', ${hex(64)}, ${userOf(crowd)},
        ${REGISTERED_AT_MS}, ${REGISTERED_AT_MS}, NULL, ${token}, '${METADATA}', '${SDK}'
      FROM numbers ORDER BY number`);
  }
}

async function seedInterests({ sql }: SeedingDatabase, crowd: Crowd): Promise<void> {
  const { instance, interests } = crowd;
  for (const numbers of stretches(crowd, Math.ceil(ROWS_AT_ONCE / interests))) {
    await sql.unsafe(`
      INSERT INTO device_interests (instance, interest, device)
      ${numbers}, interests (place) AS (
        SELECT 0 UNION ALL SELECT place + 1 FROM interests WHERE place < ${interests - 1}
      )
      SELECT ${instance}, '${INTEREST_PREFIX}' || place, number
      FROM numbers CROSS JOIN interests ORDER BY number, place`);
  }
}

/** The crowd's numbers, so many at a time, each time as the beginning of a statement. */
function* stretches({ firstNumber, devices }: Crowd, most: number): Generator<string> {
  const end = firstNumber + devices;
  for (let from = firstNumber; from < end; from += most) {
    const last = Math.min(end, from + most) - 1;
    yield `WITH RECURSIVE numbers (number) AS (
      SELECT ${from} UNION ALL SELECT number + 1 FROM numbers WHERE number < ${last}
    )`;
  }
}

/** The user of the device in a row, in the words of SQL. */
function userOf({ firstNumber, devices, users }: Crowd): string {
  const withUser = users * DEVICES_OF_USER;
  if (withUser === 0) return 'NULL';
  const every = Math.floor(devices / withUser);
  const place = `(number - ${firstNumber}) / ${every}`;
  return `CASE WHEN (number - ${firstNumber}) % ${every} = 0 AND ${place} < ${withUser}
    THEN '${USER_PREFIX}' || (${place} % ${users}) END`;
}

/** So many random hex digits, another value in each row. */
const randomHex: Record<Dialect, (digits: number) => string> = {
  sqlite: (digits) => `lower(hex(randomblob(${digits / 2})))`,
  postgres: (digits) => {
    const hashes = Array.from({ length: Math.ceil(digits / 32) }, () => 'md5(random()::text)');
    return `substr(${hashes.join(' || ')}, 1, ${digits})`;
  },
};
