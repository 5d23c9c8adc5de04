import type { TransactionSQL } from 'bun';
import type { AfterJob, AfterPart, JobResults } from '../../../push/model/delivery.ts';
import type { Platform } from '../../../push/model/device.ts';
import type { Database } from '../../database/database.ts';
import { skipLocked } from '../../database/dialect.ts';
import { type BigInteger, isAmong } from '../../database/rows.ts';
import { recordPauses } from '../devices/device-pauses.ts';
import { markAccepted } from '../devices/mark-accepted.ts';
import { pruneDevices } from '../devices/prune-devices.ts';
import type { LockedAnswer, LockedPublish } from '../publishes/locked-publish.ts';
import { changeTogether, publishChanges } from '../publishes/publish-changes.ts';
import { countRemoved, type Results, recordResults, recordUsers } from './device-results.ts';
import { settleDueOfPages, settlePages, settlePartOfPages } from './page-results.ts';

/** Records the results of a whole job. */
export function settle(database: Database, server: string, results: JobResults): Promise<AfterJob> {
  const { job } = results;
  const isLast = job.what !== 'page' || job.nextDueMs === undefined;
  return record(database, { ...results, server, pages: isLast ? settlePages : settleDueOfPages });
}

/** Records the results of some devices of a job, while others are in flight. */
export async function settlePart(
  database: Database,
  server: string,
  results: JobResults,
): Promise<AfterPart> {
  const after = await record(database, { ...results, server, pages: settlePartOfPages });
  // Other devices of the job remain, so the publish cannot be finished.
  return after === 'finished' ? 'under-way' : after;
}

async function record(
  database: Database,
  {
    server,
    job,
    results,
    nowMs,
    pages,
  }: JobResults & { readonly server: string; readonly pages: typeof settlePages },
): Promise<AfterJob> {
  const { publish, devices } = job;
  const byDevice: Results = new Map(results.map((result) => [result.device, result]));
  const dead = results.filter((result) => result.what === 'pruned');
  const recorded = await database.write(async (sql, later) => {
    const changing = { sql, later, instance: publish.instance, nowMs };
    await pruneDevices(changing, dead);
    await markAccepted(changing, results);
    await recordPauses(changing, results);
    const answer: LockedAnswer = { after: 'stale' };
    const isToUsers = publish.kind === 'users';
    if (job.what === 'page') {
      const { page, nextDueMs } = job;
      const settled = { page, server, devices, results: byDevice, nextDueMs };
      const item = { ...settled, isToUsers, nowMs, answer };
      later(publishChanges, changeTogether(publish.number, pages, item));
      return answer;
    }
    const { platform } = job;
    later(publishChanges, {
      publish: publish.number,
      async run(of, locked) {
        const retries = { server, platform, devices, results: byDevice, nowMs };
        if (!(await recordRetries(of, locked, retries))) return;
        if (isToUsers) await recordUsers(of, locked.number, results);
        locked.recorded(answer, nowMs);
      },
    });
    return answer;
  });
  return recorded.after;
}

interface RetryResults {
  readonly server: string;
  readonly platform: Platform;
  readonly devices: readonly number[];
  readonly results: Results;
  readonly nowMs: number;
}

/** `false` if they are recorded already, or another server has claimed them. */
async function recordRetries(
  sql: TransactionSQL,
  locked: LockedPublish,
  { server, platform, devices, results, nowMs }: RetryResults,
): Promise<boolean> {
  const rows: { device: BigInteger }[] = await sql`
    SELECT device FROM publish_devices
    WHERE publish = ${locked.number} AND ${isAmong(sql, 'device', devices)}
      AND leased_by = ${server}
    ORDER BY device ${skipLocked(sql)}`;
  const claimed = rows.map(({ device }) => Number(device));
  if (claimed.length === 0) return false;
  locked.tally.count(platform, 'retrying', -claimed.length);
  countRemoved(locked, platform, claimed.filter((device) => !results.has(device)).length);
  const accepted = claimed.filter((device) => results.get(device)?.what === 'accepted');
  if (accepted.length > 0) {
    await sql`UPDATE publish_devices
      SET state = 'accepted', attempts = attempts + 1, changed_at = ${nowMs}, ready_at = NULL,
        leased_by = NULL
      WHERE publish = ${locked.number} AND leased_by = ${server}
        AND ${isAmong(sql, 'device', accepted)}`;
  }
  await recordResults(sql, locked, { devices: claimed, results, nowMs });
  return true;
}
