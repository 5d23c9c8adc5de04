import type { TransactionSQL } from 'bun';
import { isJsonObject } from '../../runtime/json-object.ts';
import type { Database } from '../database/database.ts';

/** Webhook requests that one change deletes, so that it does not block others for long. */
const REQUESTS_PER_CHANGE = 500;

/** Which tenant is deleted, or created anew. */
export interface TenantName {
  readonly noun: 'app' | 'instance';
  readonly id: string;
}

/**
 * Makes the caller's transaction the only one that creates or deletes tenants. Apps and instances name each other, so both
 * revisions are locked, always in this order.
 */
export async function lockTenants(sql: TransactionSQL): Promise<void> {
  for (const what of ['apps', 'instances']) {
    await sql`UPDATE revisions SET revision = revision WHERE what = ${what}`;
  }
}

/**
 * Deletes what names a tenant, but for its webhook requests: `forgetRequests` does that. Otherwise the next tenant with its id
 * would get it. Returns whether there was anything.
 */
export async function forgetLeftovers(
  sql: TransactionSQL,
  { noun, id }: TenantName,
): Promise<boolean> {
  if (noun === 'instance') return await removeRules(sql, id);
  const days = await sql`DELETE FROM usage_days WHERE app_id = ${id}`;
  const hours = await sql`DELETE FROM usage_hours WHERE app_id = ${id}`;
  const revocations = await sql`DELETE FROM revocations WHERE app_id = ${id}`;
  const wasLinked = await unlink(sql, id);
  return days.count + hours.count + revocations.count > 0 || wasLinked;
}

/** Deletes the webhook requests of a tenant, waiting ones and the log, in pieces. Returns how many there were. */
export async function forgetRequests(
  database: Database,
  { noun, id }: TenantName,
  perChange = REQUESTS_PER_CHANGE,
): Promise<number> {
  for (let deleted = 0; ; ) {
    const { count } = await database.write(
      (sql) => sql`DELETE FROM outbox_requests WHERE id IN (
        SELECT id FROM outbox_requests WHERE owner_id = ${id} AND ${
          noun === 'app' ? sql`kind = 'channels'` : sql`kind <> 'channels'`
        } LIMIT ${perChange})`,
      'admin',
    );
    deleted += count;
    if (count < perChange) return deleted;
  }
}

/** Removes the link of instances to an app, so that their backends cannot send events in the next one. */
function unlink(sql: TransactionSQL, app: string): Promise<boolean> {
  return changeSettings(sql, 'instances', (settings) => {
    if (settings['app'] !== app) return undefined;
    const { app: _, ...others } = settings;
    return others;
  });
}

/** Removes the rules of apps that send notifications of an instance. */
function removeRules(sql: TransactionSQL, instance: string): Promise<boolean> {
  return changeSettings(sql, 'apps', (settings) => {
    const rules = settings['pushRules'];
    if (!Array.isArray(rules)) return undefined;
    const others = rules.filter(
      (rule) => !isJsonObject(rule) || String(rule['instance']).toLowerCase() !== instance,
    );
    return others.length < rules.length ? { ...settings, pushRules: others } : undefined;
  });
}

type Settings = Readonly<Record<string, unknown>>;

/** Changes the settings of all tenants of one kind. `change` returns `undefined` for those that stay as they are. */
async function changeSettings(
  sql: TransactionSQL,
  table: 'apps' | 'instances',
  change: (settings: Settings) => Settings | undefined,
): Promise<boolean> {
  const rows: { readonly id: string; readonly settings: string }[] =
    table === 'apps'
      ? await sql`SELECT id, settings FROM apps WHERE settings LIKE '%"pushRules"%'`
      : await sql`SELECT id, settings FROM instances WHERE settings LIKE '%"app"%'`;
  let isChanged = false;
  for (const { id, settings } of rows) {
    const changed = change(JSON.parse(settings));
    if (changed === undefined) continue;
    isChanged = true;
    const text = JSON.stringify(changed);
    if (table === 'apps') await sql`UPDATE apps SET settings = ${text} WHERE id = ${id}`;
    else await sql`UPDATE instances SET settings = ${text} WHERE id = ${id}`;
  }
  if (isChanged) await sql`UPDATE revisions SET revision = revision + 1 WHERE what = ${table}`;
  return isChanged;
}
