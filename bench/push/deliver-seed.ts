import { randomBytes } from 'node:crypto';
import { SQL } from 'bun';
import { newP256Pair } from '../../src/fake-gateways/p256.ts';
import { openDatabase } from '../../src/stores/database/database.ts';
import {
  BUNDLE_ID,
  type DeliverInstance,
  INTEREST,
  REGISTERED_AT_MS,
  SINGLE_INTEREST,
  WARM_UP_DEVICES,
  WARM_UP_INTEREST,
} from './deliver-instances.ts';
import type { SinkKind } from './sink-calls.ts';

/** How many different keys browsers have; generating one for each would take longer than encrypting for it. */
const BROWSER_KEYS = 200;

/** Devices that one statement makes. */
const DEVICES_AT_ONCE = 200_000;

export interface SeedOptions {
  /** Whether the gateway has accepted a notification for each device before. */
  readonly areTrusted?: boolean;
  /** The language of every second device. */
  readonly language?: string;
}

/** Fills a fresh store with the devices of these instances, as registrations would have. */
export async function seedDevices(
  file: string,
  kind: SinkKind,
  origin: string,
  instances: readonly DeliverInstance[],
  options: SeedOptions = {},
): Promise<void> {
  // It makes the tables.
  await (await openDatabase(`sqlite:${file}`))[Symbol.asyncDispose]();
  await using sql = new SQL({ adapter: 'sqlite', filename: file });
  // A crash while seeding loses nothing of value.
  await sql.unsafe('PRAGMA synchronous = OFF');
  await sql.unsafe('PRAGMA cache_size = -1000000');
  await makeBrowserKeys(sql);
  for (const instance of instances) {
    const { number, id, devices } = instance;
    await sql`INSERT INTO instance_numbers (number, id, devices)
      VALUES (${number}, ${id}, ${devices})`;
    await seedInstance(sql, { kind, origin }, instance, options);
  }
  // Otherwise the server would have to write it to the database file.
  await sql.unsafe('PRAGMA wal_checkpoint(TRUNCATE)');
}

async function makeBrowserKeys(sql: SQL): Promise<void> {
  await sql.unsafe('CREATE TEMP TABLE browser_keys (place INTEGER PRIMARY KEY, keys TEXT)');
  for (let place = 0; place < BROWSER_KEYS; place += 1) {
    const p256dh = newP256Pair().publicText;
    const keys = JSON.stringify({ p256dh, auth: randomBytes(16).toString('base64url') });
    await sql`INSERT INTO browser_keys VALUES (${place}, ${keys})`;
  }
}

async function seedInstance(
  sql: SQL,
  { kind, origin }: { readonly kind: SinkKind; readonly origin: string },
  { number: instance, firstDevice, devices }: DeliverInstance,
  { areTrusted = false, language }: SeedOptions,
): Promise<void> {
  const end = firstDevice + devices;
  for (let from = firstDevice; from < end; from += DEVICES_AT_ONCE) {
    const last = Math.min(end, from + DEVICES_AT_ONCE) - 1;
    const numbers = `WITH RECURSIVE numbers (number) AS (
      SELECT ${from} UNION ALL SELECT number + 1 FROM numbers WHERE number < ${last})`;
    await sql.unsafe(`
      INSERT INTO devices (number, instance, id, platform, token_identity, user_id,
        registered_at, seen_at, bundle_id, token, metadata, sdk, accepted_at, language)
      ${numbers}
      SELECT number, ${instance}, '${kind}-' || ${hex(36)}, '${kind}', ${hex(64)}, NULL,
        ${REGISTERED_AT_MS}, ${REGISTERED_AT_MS}, '${BUNDLE_ID}', ${tokens[kind](origin)}, '{}', '',
        ${areTrusted ? REGISTERED_AT_MS : 'NULL'},
        ${language === undefined ? 'NULL' : `CASE number % 2 WHEN 0 THEN '${language}' END`}
      FROM numbers ORDER BY number`);
    await sql.unsafe(`INSERT INTO device_interests (instance, interest, device)
      ${numbers} SELECT ${instance}, '${INTEREST}', number FROM numbers ORDER BY number`);
  }
  const warm = Math.min(devices, WARM_UP_DEVICES);
  await sql`INSERT INTO device_interests (instance, interest, device)
    SELECT ${instance}, ${WARM_UP_INTEREST}, number FROM devices
    WHERE number >= ${firstDevice} AND number < ${firstDevice + warm}`;
  await sql`INSERT INTO device_interests (instance, interest, device)
    VALUES (${instance}, ${SINGLE_INTEREST}, ${end - 1})`;
}

/** As long as real ones, as an SQL expression that differs in each row. */
const tokens: Readonly<Record<SinkKind, (origin: string) => string>> = {
  apns: () => hex(64),
  fcm: () => `${hex(22)} || ':APA91b' || ${hex(134)}`,
  web: (origin) =>
    `'{"endpoint":"${origin}/wpush/v2/' || ${hex(182)} || '","keys":' ||
      (SELECT keys FROM browser_keys WHERE place = number % ${BROWSER_KEYS}) || '}'`,
};

/** This many random hex digits. */
function hex(digits: number): string {
  return `lower(hex(randomblob(${digits / 2})))`;
}
