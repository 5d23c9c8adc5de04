import { FairBudget } from '../../runtime/fairness/fair-budget.ts';
import type { Timers } from '../../runtime/ports.ts';
import { StoreAccess } from '../delivering/store-access.ts';
import type { LiveStore } from '../live-store.ts';
import type { LiveRequest, LiveResult } from '../model/live.ts';
import type { PublishId } from '../model/publish.ts';

/** A publish whose users are to be asked. */
export interface LivePublish {
  readonly id: PublishId;
  readonly instance: number;
  /** The app whose connections are asked. */
  readonly appId: string;
  readonly live: LiveRequest;
  /** `signed-in`: every signed-in user with a connection in the channel. */
  readonly userIds: readonly string[] | 'signed-in';
}

/** Sends the event of a publish, and asks the connections of its users. Settles a moment after the deadline at the latest. */
export type AskUsers = (publish: LivePublish) => Promise<LiveResult>;

export interface LiveStageOptions {
  readonly ask: AskUsers;
  readonly store: LiveStore;
  readonly now: () => number;
  readonly timers: Timers;
  /** Called when a result was stored, so that planning can begin. */
  readonly settled: () => void;
  /** Called once for each publish that is settled, with the number of its users. */
  readonly counted: (result: LiveResult, users: number) => void;
  /** Called each time that a result could not be stored. */
  readonly failed: (error: unknown) => void;
}

/**
 * The limits of publishes and of users that are asked concurrently. Beyond them, nobody is asked, and everybody is
 * notified.
 */
const PUBLISHES_MAX = 10_000;
const USERS_MAX = 100_000;

/** The minimum room for users that a publish takes. Many small publishes reach both limits together. */
const USERS_MIN = USERS_MAX / PUBLISHES_MAX;

/** The room that a publish takes if every signed-in user is asked. */
const SIGNED_IN_WEIGHT = 1_000;

/**
 * The pauses before what users have answered is stored once more. Two tries fit between the deadline and the moment when
 * planning starts without it, and all of them into the longest wait for answers. They grow because thousands may try.
 */
const PAUSES_MS: readonly number[] = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000];

interface Staged {
  readonly publish: LivePublish;
  readonly weight: number;
  /** Whether the result is known. */
  isOver: boolean;
  /** Whether it takes room. It does until its result is stored. */
  isInside: boolean;
}

/**
 * The live publishes that are being asked, or whose answers could not be stored yet: a store that fails for a moment must
 * not notify users who have the event. Nothing here must survive a crash: planning starts by itself after the
 * deadline. When it is full, the instance with the most users in it gives up its newest publish, so that no instance
 * keeps others out.
 */
export class LiveStage {
  private readonly options: LiveStageOptions;
  private readonly access: StoreAccess;
  private hasStopped = false;
  private readonly budget = new FairBudget<number>(USERS_MAX);
  /** In the order of arrival. */
  private readonly byInstance = new Map<number, Set<Staged>>();

  constructor(options: LiveStageOptions) {
    this.options = options;
    this.access = new StoreAccess(options.timers, { storeFailed: options.failed });
  }

  /** The publishes in progress. */
  get size(): number {
    return this.byInstance.values().reduce((sum, { size }) => sum + size, 0);
  }

  /** Asks the users of an accepted publish. Never fails. */
  add(publish: LivePublish): void {
    const { instance, userIds } = publish;
    const staged = { publish, weight: weightOf(userIds), isOver: false, isInside: true };
    if (!this.makeRoom(instance, staged.weight)) {
      this.skip(publish, 'too-many');
      return;
    }
    this.budget.add(instance, staged.weight);
    const others = this.byInstance.get(instance);
    if (others === undefined) this.byInstance.set(instance, new Set([staged]));
    else others.add(staged);
    this.options.ask(publish).then(
      (result) => void this.end(staged, result),
      () => void this.end(staged, { skipped: 'no-result' }),
    );
  }

  /** Settles a publish that is not asked. All are notified, also if this cannot be stored. */
  skip(
    publish: Pick<LivePublish, 'id' | 'instance' | 'userIds'>,
    why: 'not-allowed' | 'too-many',
  ): void {
    void this.settle(publish, { skipped: why });
  }

  /** Gives up what could not be stored. */
  stop(): void {
    this.hasStopped = true;
    this.access.giveUp();
  }

  private makeRoom(instance: number, weight: number): boolean {
    for (;;) {
      const yielding = this.budget.ownerToEvict(instance, weight);
      if (yielding === undefined) return true;
      const staged = yielding === instance ? [] : [...(this.byInstance.get(yielding) ?? [])];
      const newest = staged.at(-1);
      if (newest === undefined) return false;
      if (newest.isOver) this.leave(newest);
      else void this.end(newest, { skipped: 'too-many' });
    }
  }

  private async end(staged: Staged, result: LiveResult): Promise<void> {
    if (staged.isOver) return;
    staged.isOver = true;
    const { publish } = staged;
    // All are notified, also if this cannot be stored.
    if ('skipped' in result) this.leave(staged);
    await this.settle(publish, result, 'skipped' in result ? undefined : staged);
    this.leave(staged);
  }

  private leave(staged: Staged): void {
    if (!staged.isInside) return;
    staged.isInside = false;
    const { instance } = staged.publish;
    const ofInstance = this.byInstance.get(instance);
    ofInstance?.delete(staged);
    if (ofInstance?.size === 0) this.byInstance.delete(instance);
    this.budget.release(instance, staged.weight);
  }

  /** `staged`: it is tried again as long as this has room. */
  private async settle(
    { id, instance, userIds }: Pick<LivePublish, 'id' | 'instance' | 'userIds'>,
    result: LiveResult,
    staged?: Staged,
  ): Promise<void> {
    const { store, now, settled, counted } = this.options;
    counted(result, userIds === 'signed-in' ? 0 : userIds.length);
    for (const pauseMs of [...PAUSES_MS, undefined]) {
      try {
        await this.access.ask(() =>
          store.settleLive({ instance, publish: id, result, nowMs: now() }),
        );
        settled();
        return;
      } catch {
        // Reported.
        if (staged === undefined || pauseMs === undefined) return;
        await this.access.pause(pauseMs);
        if (this.hasStopped || !staged.isInside) return;
      }
    }
  }
}

function weightOf(userIds: LivePublish['userIds']): number {
  return userIds === 'signed-in' ? SIGNED_IN_WEIGHT : Math.max(USERS_MIN, userIds.length);
}
