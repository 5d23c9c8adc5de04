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
} from './model/delivery.ts';
import type { DeviceId } from './model/device.ts';
import type { PublishId } from './model/publish.ts';

/**
 * Keeps how far publishes have come: pages of devices that nobody but one server works on at a time. Claims end
 * by themselves, so what a server was at when it died is done again by itself or another. Each method that changes
 * something is one commit, durable when it settles; where it fails without an answer, it may have been done.
 *
 * Every device of every page is, at any time, in a page that waits or counted once in the status of its publish:
 * as accepted, retrying, failed, pruned, expired or cancelled. What comes a second time changes nothing.
 *
 * An instance that is deleted has no work any more, whatever is left of it.
 */
export interface DeliveryStore {
  /**
   * Claims publishes that are due and not planned to their end: of each instance in turn the one that waits
   * longest, and none that somebody else is planning. None of the instances of `except`: whoever asks has enough
   * of them. No more than `most`, and than `mostOfEach` of an instance.
   */
  claimPlanning(
    nowMs: number,
    untilMs: number,
    most: number,
    except: readonly number[],
    mostOfEach?: number,
  ): Promise<readonly PlanningClaim[]>;
  /**
   * Adds a page and remembers how far planning has come. Until `untilMs` the page is claimed by whoever planned
   * it; 0: whoever comes first may claim it. Gives its number, or `undefined` where planning is no longer the
   * caller's: the publish was cancelled, or somebody else has gone on with it.
   */
  addPage(publish: number, page: NewPage, untilMs: number): Promise<number | undefined>;
  /** The audience was read to its end from `after` on. `'finished'` where nothing is left to deliver. */
  endPlanning(publish: number, after: number, nowMs: number): Promise<AfterJob>;
  /** Keeps this server's claims from ending while their work goes on; what others have taken is theirs. */
  extend(
    held: { readonly plannings: readonly number[]; readonly jobs: readonly Job[] },
    untilMs: number,
  ): Promise<void>;
  /**
   * Claims pages and due retries, fairly: of each instance in turn, and in an instance of both kinds, those that
   * are due first. No more than `most` jobs, and retries of no more than `devicesMost` devices in one. There may be
   * more where it gives fewer: `nextDue` knows. None of the instances of `except`: whoever asks has enough of them,
   * or cannot reach their gateways now.
   */
  claimJobs(
    nowMs: number,
    untilMs: number,
    most: number,
    devicesMost: number,
    except: readonly number[],
  ): Promise<readonly Job[]>;
  /**
   * Keeps the results of some devices of a job while others are still under way, as `finishJob` would: whoever
   * claims the job after a crash gets only the others. At least one device must be left. Results that are kept
   * already stay as they are. Of retries, `job` has no devices but these. `'stale'`: somebody else has claimed the
   * job, or the publish is gone, and nothing was kept.
   */
  keepProgress(job: Job, results: readonly DeviceResult[], nowMs: number): Promise<AfterProgress>;
  /**
   * Keeps what has become of a job's devices, but for those that `keepProgress` has kept, counts it, deletes devices whose tokens reach nobody, and finishes
   * the publish where this was the last of it. Of a publish that was cancelled, no device is tried again. A claim
   * that has ended does not matter as long as nobody else has claimed the job since: it is that one's word that
   * counts then, and this may be the same call again, of which the answer was lost.
   */
  finishJob(job: Job, results: readonly DeviceResult[], nowMs: number): Promise<AfterJob>;
  /**
   * Makes devices due now that were to wait longer, as where what they wait for was mended. Looks at no more than
   * `most` devices of the instance after a place, and gives where it has come to; `undefined`: to the end. What
   * somebody has claimed is left alone.
   */
  bringForward(
    waiting: WaitingDevices,
    nowMs: number,
    most: number,
    after?: PlaceInLine,
  ): Promise<PlaceInLine | undefined>;
  /**
   * When there is something to claim: now or earlier, or when it is due or its claim ends. Of the instances of
   * `except`, nothing. `undefined`: nothing waits.
   */
  nextDue(except?: readonly number[]): Promise<number | undefined>;
  /**
   * Gives back what this server has claimed, as when it is stopped; `'everybodys'` is for the start of a process
   * that has the store to itself.
   */
  release(whose: 'mine' | 'everybodys'): Promise<void>;
  /**
   * The clock was set back, and `beforeMs` is what it said: nothing waits as much longer for that. What was due by
   * then may be claimed, devices that wait for another attempt wait as long as they would have, and this server's
   * claims end now: whatever of them goes on is to be extended at the same time.
   */
  clockSetBack(nowMs: number, beforeMs: number): Promise<void>;
  backlog(): Promise<DeliveryBacklog>;
  /** Why a device did or did not get a publish; `undefined` where one of them is not known. */
  story(instance: number, publish: PublishId, device: DeviceId): Promise<DeviceStory | undefined>;
  usersReached(publish: number): Promise<UsersReached>;
}
