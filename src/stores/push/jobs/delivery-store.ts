import type {
  BringForward,
  BroughtForward,
  JobStore,
  WantedJobs,
} from '../../../push/job-store.ts';
import type {
  AfterJob,
  AfterPart,
  ClaimedPlan,
  DeliveryBacklog,
  Job,
  JobResults,
} from '../../../push/model/delivery.ts';
import type {
  AddedPage,
  PlanEnd,
  PlanningStore,
  PlanPostponed,
  StoredPage,
  WantedPlans,
} from '../../../push/planning-store.ts';
import type { OwnClaims, WorkClaims } from '../../../push/work-claims.ts';
import type { Database } from '../../database/database.ts';
import { countBacklog, earliestReady } from './due-work.ts';
import { holdJobs } from './hold-jobs.ts';
import { JobClaims } from './job-claims.ts';
import { settle, settlePart } from './job-results.ts';
import { adjustLeases, endLeases, extendLeases } from './leases.ts';
import { Planning } from './planning.ts';
import { bringForward, shiftRetries } from './reschedule-retries.ts';

/** Plans, jobs and the claims on them, in the store's tables. Several servers may use one store. */
export class StoredDeliveries implements PlanningStore, JobStore, WorkClaims {
  private readonly database: Database;
  /** Identifies this server's claims. */
  private readonly server = crypto.randomUUID();
  private readonly planning: Planning;
  private readonly jobs: JobClaims;

  constructor(database: Database) {
    this.database = database;
    this.planning = new Planning(database, this.server);
    this.jobs = new JobClaims(database, this.server);
  }

  claimPlans(wanted: WantedPlans): Promise<readonly ClaimedPlan[]> {
    requireFuture(wanted);
    return this.planning.claim(wanted);
  }

  addPage(added: AddedPage): Promise<StoredPage | undefined> {
    return this.planning.addPage(added);
  }

  postponePlan(postponed: PlanPostponed): Promise<void> {
    return this.planning.postpone(postponed);
  }

  endPlanning(end: PlanEnd): Promise<AfterJob> {
    return this.planning.end(end);
  }

  claimJobs(wanted: WantedJobs): Promise<readonly Job[]> {
    requireFuture(wanted);
    return this.jobs.claim(wanted);
  }

  settle(results: JobResults): Promise<AfterJob> {
    return settle(this.database, this.server, results);
  }

  settlePart(results: JobResults): Promise<AfterPart> {
    return settlePart(this.database, this.server, results);
  }

  bringForward(change: BringForward): Promise<BroughtForward> {
    return bringForward(this.database, change);
  }

  extend(claims: OwnClaims, untilMs: number): Promise<void> {
    return extendLeases(this.database, { ...claims, server: this.server, untilMs });
  }

  hold(jobs: readonly Job[], readyAtMs: number): Promise<void> {
    return holdJobs(this.database, { jobs, server: this.server, readyAtMs });
  }

  async release(whose: 'own' | 'all'): Promise<void> {
    const server = whose === 'own' ? this.server : undefined;
    await this.database.write((sql) => endLeases(sql, server));
  }

  nextDue(except: readonly number[] = []): Promise<number | undefined> {
    return earliestReady(this.database.read, except);
  }

  async clockSetBack(nowMs: number, beforeMs: number): Promise<void> {
    const { server } = this;
    await this.database.write((sql) => adjustLeases(sql, { server, nowMs, beforeMs }));
    await shiftRetries(this.database, beforeMs - nowMs, beforeMs);
  }

  backlog(): Promise<DeliveryBacklog> {
    return countBacklog(this.database.read);
  }
}

/** Otherwise a claim would have expired already, and the caller would claim the same again and again. */
function requireFuture({ nowMs, untilMs }: { nowMs: number; untilMs: number }): void {
  if (untilMs <= nowMs) throw new Error('A claim must end later than it begins');
}
