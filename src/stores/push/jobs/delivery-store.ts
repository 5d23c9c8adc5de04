import type { DeliveryStore } from '../../../push/delivery-store.ts';
import type {
  AfterJob,
  AfterProgress,
  DeliveryBacklog,
  DeviceResult,
  DeviceStory,
  Job,
  NewPage,
  PlaceInLine,
  PlanningClaim,
  UsersReached,
  WaitingDevices,
} from '../../../push/model/delivery.ts';
import type { DeviceId } from '../../../push/model/device.ts';
import type { PublishId } from '../../../push/model/publish.ts';
import type { Database } from '../../database/database.ts';
import { readStory } from '../publishes/device-story.ts';
import { countBacklog, earliestReady } from './due-work.ts';
import { JobClaims } from './job-claims.ts';
import { finishJob, keepProgress } from './job-results.ts';
import { endLateLeases, endLeases, extendLeases } from './leases.ts';
import { Planning } from './plan-claims.ts';
import { bringBack, bringForward } from './reschedule-retries.ts';

/** How far publishes have come, in the store's tables. Several servers may use one store: claims keep them apart. */
export class StoredDeliveries implements DeliveryStore {
  private readonly database: Database;
  /** What this server's claims are known by. */
  private readonly server = crypto.randomUUID();
  private readonly planning: Planning;
  private readonly jobs: JobClaims;

  constructor(database: Database) {
    this.database = database;
    this.planning = new Planning(database, this.server);
    this.jobs = new JobClaims(database, this.server);
  }

  claimPlanning(
    nowMs: number,
    untilMs: number,
    most: number,
    except: readonly number[],
    mostOfEach = most,
  ): Promise<readonly PlanningClaim[]> {
    requireFuture(nowMs, untilMs);
    return this.planning.claim({ nowMs, untilMs, most, except, mostOfEach });
  }

  addPage(publish: number, page: NewPage, untilMs: number): Promise<number | undefined> {
    return this.planning.addPage(publish, page, untilMs);
  }

  endPlanning(publish: number, after: number, nowMs: number): Promise<AfterJob> {
    return this.planning.end(publish, after, nowMs);
  }

  extend(
    { plannings, jobs }: { readonly plannings: readonly number[]; readonly jobs: readonly Job[] },
    untilMs: number,
  ): Promise<void> {
    return extendLeases(this.database, this.server, plannings, jobs, untilMs);
  }

  claimJobs(
    nowMs: number,
    untilMs: number,
    most: number,
    devicesMost: number,
    except: readonly number[],
  ): Promise<readonly Job[]> {
    requireFuture(nowMs, untilMs);
    return this.jobs.claim({ nowMs, untilMs, most, devicesMost, except });
  }

  keepProgress(job: Job, results: readonly DeviceResult[], nowMs: number): Promise<AfterProgress> {
    return keepProgress(this.database, { server: this.server, job, results, nowMs });
  }

  finishJob(job: Job, results: readonly DeviceResult[], nowMs: number): Promise<AfterJob> {
    return finishJob(this.database, { server: this.server, job, results, nowMs });
  }

  bringForward(
    waiting: WaitingDevices,
    nowMs: number,
    most: number,
    after?: PlaceInLine,
  ): Promise<PlaceInLine | undefined> {
    return bringForward(this.database, waiting, nowMs, most, after);
  }

  nextDue(except: readonly number[] = []): Promise<number | undefined> {
    return earliestReady(this.database.read, except);
  }

  async release(whose: 'mine' | 'everybodys'): Promise<void> {
    const server = whose === 'mine' ? this.server : undefined;
    await this.database.write((sql) => endLeases(sql, server));
  }

  async clockSetBack(nowMs: number, beforeMs: number): Promise<void> {
    await this.database.write((sql) => endLateLeases(sql, this.server, nowMs, beforeMs));
    await bringBack(this.database, beforeMs - nowMs, beforeMs);
  }

  backlog(): Promise<DeliveryBacklog> {
    return countBacklog(this.database.read);
  }

  story(instance: number, publish: PublishId, device: DeviceId): Promise<DeviceStory | undefined> {
    return readStory(this.database.read, instance, publish, device);
  }

  async usersReached(publish: number): Promise<UsersReached> {
    const rows: { user_id: string; reached: number }[] = await this.database.read`
      SELECT user_id, reached FROM publish_users WHERE publish = ${publish} ORDER BY user_id`;
    const those = (reached: number) =>
      rows.filter((row) => row.reached === reached).map(({ user_id }) => user_id);
    return { delivered: those(1), failed: those(0) };
  }
}

/** What is claimed must not be claimable at the same moment: claiming would find it again and again. */
function requireFuture(nowMs: number, untilMs: number): void {
  if (untilMs <= nowMs) throw new Error('a claim ends later than it begins');
}
