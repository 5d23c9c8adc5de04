import type { TransactionSQL } from 'bun';
import type { AfterJob, AfterProgress, DeviceResult, Job } from '../../../push/model/delivery.ts';
import type { Platform } from '../../../push/model/device.ts';
import type { Database } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { skipLocked } from '../../database/dialect.ts';
import { isAmong } from '../../database/number-list.ts';
import type { BigInteger } from '../devices/device-rows.ts';
import { markAccepted } from '../devices/mark-accepted.ts';
import { pruneDevices } from '../devices/prune-devices.ts';
import type { Answer, HeldPublish } from '../publishes/locked-publish.ts';
import { changeTogether, publishChanges } from '../publishes/publish-changes.ts';
import { countRemoved, keepResults, keepUsers, type Results } from './device-results.ts';
import { finishPages, keepPageProgress } from './page-results.ts';

/** Results of a job, and who has them. */
export interface NewResults {
  readonly server: string;
  readonly job: Job;
  readonly results: readonly DeviceResult[];
  readonly nowMs: number;
}

/** Keeps what has become of the devices of a job, once for each however often it comes. */
export function finishJob(database: Database, given: NewResults): Promise<AfterJob> {
  return keep(database, given, finishPages);
}

/** Keeps what has become of some devices of a job, once for each however often it comes; the job goes on. */
export async function keepProgress(database: Database, given: NewResults): Promise<AfterProgress> {
  const after = await keep(database, given, keepPageProgress);
  // Devices of the job are left, so the publish cannot be finished.
  return after === 'finished' ? 'under-way' : after;
}

async function keep(
  database: Database,
  { server, job: { job, ...kind }, results, nowMs }: NewResults,
  pages: typeof finishPages,
): Promise<AfterJob> {
  const { dialect } = database;
  const { publish, devices } = job;
  const byDevice: Results = new Map(results.map((result) => [result.device, result]));
  const dead = results.filter((result) => result.what === 'pruned');
  const kept = await database.write(async (sql, later) => {
    await pruneDevices(dialect, sql, later, publish.instance, dead, nowMs);
    await markAccepted(dialect, sql, later, publish.instance, results, nowMs);
    const answer: Answer = { after: 'stale' };
    const isToUsers = publish.kind === 'users';
    if (kind.what === 'page') {
      const { page } = kind;
      const item = { page, server, devices, results: byDevice, isToUsers, nowMs, answer };
      later(publishChanges, changeTogether(dialect, publish.number, pages, item));
      return answer;
    }
    later(publishChanges, {
      dialect,
      publish: publish.number,
      async run(of, held) {
        const { platform } = kind;
        if (!(await keepRetries(dialect, of, held, server, platform, devices, byDevice, nowMs))) {
          return;
        }
        if (isToUsers) await keepUsers(of, held.number, results);
        held.wasKept(answer, nowMs);
      },
    });
    return answer;
  });
  return kept.after;
}

/** `false`: they are kept already, or somebody else has claimed them since. */
async function keepRetries(
  dialect: Dialect,
  sql: TransactionSQL,
  held: HeldPublish,
  server: string,
  platform: Platform,
  devices: readonly number[],
  results: Results,
  nowMs: number,
): Promise<boolean> {
  const rows: { device: BigInteger }[] = await sql`
    SELECT device FROM publish_devices
    WHERE publish = ${held.number} AND ${isAmong(dialect, sql, 'device', devices)}
      AND leased_by = ${server}
    ORDER BY device ${skipLocked(dialect, sql)}`;
  const waited = rows.map(({ device }) => Number(device));
  if (waited.length === 0) return false;
  held.tally.count(platform, 'retrying', -waited.length);
  countRemoved(held, platform, waited.filter((device) => !results.has(device)).length);
  const accepted = waited.filter((device) => results.get(device)?.what === 'accepted');
  if (accepted.length > 0) {
    await sql`UPDATE publish_devices
      SET state = 'accepted', attempts = attempts + 1, changed_at = ${nowMs}, ready_at = NULL,
        leased_by = NULL
      WHERE publish = ${held.number} AND leased_by = ${server}
        AND ${isAmong(dialect, sql, 'device', accepted)}`;
  }
  await keepResults(sql, held, waited, results, nowMs);
  return true;
}
