import type { SQL, TransactionSQL } from 'bun';
import type { DeviceKey } from '../../../push/device-store.ts';
import type { DeviceId } from '../../../push/model/device.ts';
import type { PreferenceChanges, Preferences } from '../../../push/model/preferences.ts';
import type {
  DevicePreferences,
  PreferenceStore,
  TokenOfInstance,
  UserOfInstance,
  UserPreferences,
} from '../../../push/preference-store.ts';
import type { Database } from '../../database/database.ts';
import { requireInstance } from '../../tenants/instance-presence.ts';

/** The columns that keep preferences. NULL: not known. */
export interface PreferenceColumns {
  readonly language: string | null;
  readonly time_zone: string | null;
  /** `none`, or two times such as `22:00-07:30`. */
  readonly quiet_hours: string | null;
}

/** `undefined`: nothing is known. */
export function preferencesOf(row: PreferenceColumns): Preferences | undefined {
  const { language, time_zone, quiet_hours } = row;
  if (language === null && time_zone === null && quiet_hours === null) return undefined;
  return {
    language: language ?? undefined,
    timeZone: time_zone ?? undefined,
    quietHours: quietHoursOf(quiet_hours),
  };
}

function quietHoursOf(text: string | null): Preferences['quietHours'] {
  if (text === null || text === 'none') return text ?? undefined;
  const [from = '', to = ''] = text.split('-');
  return { from, to };
}

/** The columns of a device's own preferences. Its language may be that of a header, see `registrations`. */
export function ownPreferences(sql: SQL) {
  return sql`COALESCE(devices.language, devices.accept_language) AS language,
    devices.time_zone AS time_zone, devices.quiet_hours AS quiet_hours`;
}

/** The columns of a device's preferences, or else its user's. */
export function preferenceColumns(sql: SQL) {
  return sql`COALESCE(devices.language, devices.accept_language, of_user.language) AS language,
    COALESCE(devices.time_zone, of_user.time_zone) AS time_zone,
    COALESCE(devices.quiet_hours, of_user.quiet_hours) AS quiet_hours`;
}

/** Joins devices with the preferences of their users, for `preferenceColumns`. */
export function joinUserPreferences(sql: SQL) {
  return sql`LEFT JOIN user_preferences AS of_user
    ON of_user.instance = devices.instance AND of_user.user_id = devices.user_id`;
}

/** Preferences in the store's tables. */
export class StoredPreferences implements PreferenceStore {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  async ofDevice({ instance, id }: DeviceKey): Promise<Preferences | undefined> {
    const { read } = this.database;
    const [row]: PreferenceColumns[] = await read`
      SELECT ${ownPreferences(read)} FROM devices WHERE id = ${id} AND instance = ${instance}`;
    if (row !== undefined) return preferencesOf(row) ?? {};
    await requireInstance(read, instance);
    return undefined;
  }

  async setOfDevice({ instance, id, changes }: DevicePreferences): Promise<boolean> {
    const { database } = this;
    const columns = columnsOf(changes);
    const count = await database.write(async (sql) => {
      const { count } = await sql`UPDATE devices
        SET language = ${valueOr(sql, columns.language, 'language')},
          time_zone = ${valueOr(sql, columns.time_zone, 'time_zone')},
          quiet_hours = ${valueOr(sql, columns.quiet_hours, 'quiet_hours')}
        WHERE id = ${id} AND instance = ${instance}`;
      return count;
    }, instance);
    if (count === 0) await requireInstance(database.read, instance);
    return count > 0;
  }

  async deviceWithToken({ instance, identity }: TokenOfInstance): Promise<DeviceId | undefined> {
    const { read } = this.database;
    const [row]: { id: DeviceId }[] = await read`
      SELECT id FROM devices WHERE instance = ${instance} AND token_identity = ${identity}`;
    if (row === undefined) await requireInstance(read, instance);
    return row?.id;
  }

  async ofUser({ instance, userId }: UserOfInstance): Promise<Preferences> {
    const { read } = this.database;
    const [row]: PreferenceColumns[] = await read`
      SELECT language, time_zone, quiet_hours FROM user_preferences
      WHERE instance = ${instance} AND user_id = ${userId}`;
    if (row === undefined) await requireInstance(read, instance);
    return (row && preferencesOf(row)) ?? {};
  }

  async setOfUser({ instance, userId, changes }: UserPreferences): Promise<void> {
    const { database } = this;
    const columns = columnsOf(changes);
    const { language = null, time_zone = null, quiet_hours = null } = columns;
    const count = await database.write(async (sql) => {
      // Nothing is kept for an instance that is gone.
      const { count } = await sql`
        INSERT INTO user_preferences (instance, user_id, language, time_zone, quiet_hours)
        SELECT number, ${userId}, ${language}, ${time_zone}, ${quiet_hours}
        FROM instance_numbers WHERE number = ${instance} AND id IS NOT NULL
        ON CONFLICT (instance, user_id) DO UPDATE
        SET language = ${valueOr(sql, columns.language, 'user_preferences.language')},
          time_zone = ${valueOr(sql, columns.time_zone, 'user_preferences.time_zone')},
          quiet_hours = ${valueOr(sql, columns.quiet_hours, 'user_preferences.quiet_hours')}`;
      return count;
    }, instance);
    if (count === 0) await requireInstance(database.read, instance);
  }

  async forgetUser({ instance, userId }: UserOfInstance): Promise<void> {
    const { database } = this;
    await database.write((sql) => forgetUserPreferences(sql, { instance, userId }), instance);
    await requireInstance(database.read, instance);
  }
}

export async function forgetUserPreferences(
  sql: TransactionSQL,
  { instance, userId }: UserOfInstance,
): Promise<void> {
  await sql`DELETE FROM user_preferences WHERE instance = ${instance} AND user_id = ${userId}`;
}

/** `undefined`: the column keeps its value. */
function columnsOf({ language, timeZone, quietHours }: PreferenceChanges) {
  const quiet_hours =
    typeof quietHours === 'object' && quietHours !== null
      ? `${quietHours.from}-${quietHours.to}`
      : quietHours;
  return { language, time_zone: timeZone, quiet_hours };
}

function valueOr(sql: SQL, value: string | null | undefined, column: string) {
  return value === undefined ? sql`${sql(column)}` : sql`${value}`;
}
