import { FairBudget } from '../../runtime/fairness/fair-budget.ts';
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
  /** Called when a result was stored, so that planning can begin. */
  readonly settled: () => void;
  /** Called once for each publish that is settled, with the number of its users. */
  readonly counted: (result: LiveResult, users: number) => void;
  /** Called when a result could not be stored. Planning then starts without it. */
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

interface Staged {
  readonly publish: LivePublish;
  readonly weight: number;
  isOver: boolean;
}

/**
 * The live publishes that are being asked. Nothing here must survive a crash: planning starts by itself after the
 * deadline. When it is full, the instance with the most users in it gives up its newest publish, so that no instance
 * keeps others out.
 */
export class LiveStage {
  private readonly options: LiveStageOptions;
  private readonly budget = new FairBudget<number>(USERS_MAX);
  /** In the order of arrival. */
  private readonly byInstance = new Map<number, Set<Staged>>();

  constructor(options: LiveStageOptions) {
    this.options = options;
  }

  /** The publishes in progress. */
  get size(): number {
    return this.byInstance.values().reduce((sum, { size }) => sum + size, 0);
  }

  /** Asks the users of an accepted publish. Never fails. */
  add(publish: LivePublish): void {
    const { instance, userIds } = publish;
    const staged = { publish, weight: weightOf(userIds), isOver: false };
    if (!this.makeRoom(instance, staged.weight)) {
      this.settle(staged, { skipped: 'too-many' });
      return;
    }
    this.budget.add(instance, staged.weight);
    const others = this.byInstance.get(instance);
    if (others === undefined) this.byInstance.set(instance, new Set([staged]));
    else others.add(staged);
    this.options.ask(publish).then(
      (result) => this.end(staged, result),
      () => this.end(staged, { skipped: 'no-result' }),
    );
  }

  /** Settles a publish that cannot be asked. */
  skip(publish: Pick<LivePublish, 'id' | 'instance' | 'userIds'>, why: 'not-allowed'): void {
    void this.store(publish, { skipped: why });
  }

  private makeRoom(instance: number, weight: number): boolean {
    for (;;) {
      const yielding = this.budget.ownerToEvict(instance, weight);
      if (yielding === undefined) return true;
      const staged = yielding === instance ? [] : [...(this.byInstance.get(yielding) ?? [])];
      const newest = staged.at(-1);
      if (newest === undefined) return false;
      this.end(newest, { skipped: 'too-many' });
    }
  }

  private end(staged: Staged, result: LiveResult): void {
    if (staged.isOver) return;
    const { instance } = staged.publish;
    const ofInstance = this.byInstance.get(instance);
    ofInstance?.delete(staged);
    if (ofInstance?.size === 0) this.byInstance.delete(instance);
    this.budget.release(instance, staged.weight);
    this.settle(staged, result);
  }

  private settle(staged: Staged, result: LiveResult): void {
    staged.isOver = true;
    void this.store(staged.publish, result);
  }

  private async store(
    { id, instance, userIds }: Pick<LivePublish, 'id' | 'instance' | 'userIds'>,
    result: LiveResult,
  ): Promise<void> {
    const { store, now, settled, counted, failed } = this.options;
    counted(result, userIds === 'signed-in' ? 0 : userIds.length);
    try {
      await store.settleLive({ instance, publish: id, result, nowMs: now() });
      settled();
    } catch (error) {
      failed(error);
    }
  }
}

function weightOf(userIds: LivePublish['userIds']): number {
  return userIds === 'signed-in' ? SIGNED_IN_WEIGHT : Math.max(USERS_MIN, userIds.length);
}
