import { SQL } from 'bun';
import { openDatabase } from '../../src/stores/database/database.ts';
import { BUNDLE_ID, deliverInstances, INTEREST, REGISTERED_AT_MS } from './deliver-instances.ts';

/** As long as a real token, as an SQL expression that differs in each row. */
const TOKEN = `replace(gen_random_uuid()::text || gen_random_uuid(), '-', '')`;

/** Fills an empty database with one instance of Apple devices, as registrations would have. Every second one has the language. */
export async function seedPostgres(url: string, devices: number, language: string): Promise<void> {
  // It makes the tables.
  await (await openDatabase(url))[Symbol.asyncDispose]();
  await using sql = new SQL(url);
  const [instance] = deliverInstances(devices, 1);
  await sql`INSERT INTO instance_numbers (number, id, devices)
    VALUES (1, ${instance?.id}, ${devices})`;
  const numbers = `generate_series(1, ${devices}) AS number`;
  await sql.unsafe(`
    INSERT INTO devices (number, instance, id, platform, token_identity, user_id, registered_at,
      seen_at, bundle_id, token, metadata, sdk, accepted_at, language)
    SELECT number, 1, 'apns-' || gen_random_uuid(), 'apns', ${TOKEN}, NULL, ${REGISTERED_AT_MS},
      ${REGISTERED_AT_MS}, '${BUNDLE_ID}', ${TOKEN}, '{}', '', ${REGISTERED_AT_MS},
      CASE number % 2 WHEN 0 THEN '${language}' END
    FROM ${numbers}`);
  await sql.unsafe(`INSERT INTO device_interests (instance, interest, device)
    SELECT 1, '${INTEREST}', number FROM ${numbers}`);
  // As the database does by itself some time after so many rows.
  await sql.unsafe('ANALYZE');
}
