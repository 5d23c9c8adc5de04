import { createHash } from 'node:crypto';
import type { Installation } from '../../../asking/facts/servers.ts';
import type { App } from '../../../channels/app.ts';
import { withTimeout } from '../../../runtime/system-timers.ts';
import type { Database } from '../../../stores/database/database.ts';

/** How long the store may take. A store that is away says nothing. */
const STORE_MS = 400;

/** Enough to find one in common, whatever is changed at the moment. */
const APPS_MAX = 100;

/** What another server sends is at most this long. */
const HASH = /^[0-9a-f]{16}$/;

/** Finds out what this server belongs to; `undefined`: unknown at the moment. Never cached: a database may be replaced. */
export async function ownInstallation(
  database: Pick<Database, 'dialect' | 'identity'>,
  apps: Iterable<App>,
): Promise<Installation | undefined> {
  return database.dialect === 'sqlite' ? ofApps(apps) : await installationOfStore(database);
}

export async function installationOfStore(
  database: Pick<Database, 'identity'>,
): Promise<Installation | undefined> {
  let identity: string | undefined;
  const asked = database.identity().then(
    (found) => {
      identity = found;
    },
    () => undefined,
  );
  await withTimeout(STORE_MS, asked);
  return identity === undefined ? undefined : { database: hashed(identity) };
}

export function ofApps(apps: Iterable<Pick<App, 'id' | 'keys'>>): Installation {
  const pairs = [...apps].flatMap(({ id, keys }) => keys.map(({ key }) => hashed(`${id} ${key}`)));
  // The smallest: so servers choose the same of the same apps.
  return { apps: pairs.toSorted().slice(0, APPS_MAX) };
}

function hashed(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** Reads what another server says; `undefined`: it says nothing, as an older release. */
export function readInstallation(said: unknown): Installation | undefined {
  const { database, apps } = Object(said) as Partial<Record<string, unknown>>;
  if (typeof database === 'string' && HASH.test(database)) return { database };
  if (!Array.isArray(apps)) return undefined;
  return { apps: apps.filter((one) => HASH.test(String(one))).slice(0, APPS_MAX) };
}

/** Why two servers cannot be of one installation; `undefined` if they are, or if that is unknown. */
export function differenceOf(own: Installation, other: Installation): string | undefined {
  if ('database' in own && 'database' in other) {
    return own.database === other.database ? undefined : 'its store is another database';
  }
  if ('database' in own) return 'its store is a file, and that of this server is in PostgreSQL';
  if ('database' in other) return 'its store is in PostgreSQL, and that of this server is a file';
  if (own.apps.length === 0 || other.apps.length === 0) return undefined;
  const known = new Set(own.apps);
  return other.apps.some((one) => known.has(one)) ? undefined : 'it has no app of this server';
}
