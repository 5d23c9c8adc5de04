import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Hub } from '../../../channels/hub.ts';
import { type MaybePromise, recover } from '../../../channels/maybe-promise.ts';
import type { Session } from '../../../channels/subscribing/session.ts';
import {
  channelsToLeave,
  disconnect,
  leaveChannel,
} from '../../../channels/subscribing/subscribe.ts';

/** The limit of channels to leave in one turn of the loop. That takes a few milliseconds. */
const CHANNELS_PER_TURN = 1_000;

/** Channels that are left at once when room is needed, so that there is room for the next subscriptions too. */
const CHANNELS_FOR_ROOM = 50;

/**
 * Takes sessions whose connections have ended out of their channels: up to 1,000 channels in each turn of the loop. A
 * connection may be in a thousand channels, and many may end at once, so leaving all at once would block the loop.
 */
export class Departures {
  private readonly hub: Hub;
  private readonly failed: (session: Session, error: unknown) => void;
  /** The last to end leaves first, because taking from the front of a long array costs more. */
  private readonly leaving: Session[] = [];
  /** Channels that may still be left in this turn. */
  private mayLeave = CHANNELS_PER_TURN;
  private working: Promise<void> | undefined;
  /** What an engine has not answered yet. */
  private readonly unanswered = new Set<Promise<void>>();

  /** `failed` is called when an engine fails. The departure continues nevertheless. */
  constructor(hub: Hub, failed: (session: Session, error: unknown) => void) {
    this.hub = hub;
    this.failed = failed;
  }

  add(session: Session): void {
    this.run(session, () => disconnect(this.hub, session));
    if (session.subscriptionCount === 0) return;
    this.leaving.push(session);
    this.leaveInThisTurn();
    this.working ??= this.work();
  }

  /** Leaves some channels now, because the room is needed; `false` if there are none to leave. */
  hasten(): boolean {
    return this.leave(CHANNELS_FOR_ROOM) > 0;
  }

  /** Settles when every session has left its channels, and the engines have answered. */
  async done(): Promise<void> {
    await this.working;
    await Promise.all(this.unanswered);
  }

  private async work(): Promise<void> {
    // Ends after a turn in which no channel was left: the next turn then has its full share.
    do {
      await nextTurn();
      this.mayLeave = CHANNELS_PER_TURN;
      this.leaveInThisTurn();
    } while (this.mayLeave < CHANNELS_PER_TURN);
    this.working = undefined;
  }

  private leaveInThisTurn(): void {
    this.mayLeave -= this.leave(this.mayLeave);
  }

  /** Leaves up to `limit` channels, and returns how many. */
  private leave(limit: number): number {
    let left = 0;
    while (left < limit) {
      // Removed from the list in the meantime: leaving may close another connection, which is then added.
      const session = this.leaving.pop();
      if (session === undefined) break;
      const subscriptions = channelsToLeave(session, limit - left);
      for (const subscription of subscriptions) {
        this.run(session, () => leaveChannel(this.hub, session, subscription));
      }
      left += subscriptions.length;
      if (left === limit) this.leaving.push(session);
    }
    return left;
  }

  private run(session: Session, step: () => MaybePromise<unknown>): void {
    const done = recover(step, (error) => this.failed(session, error));
    if (!(done instanceof Promise)) return;
    const settled = done.finally(() => this.unanswered.delete(settled));
    this.unanswered.add(settled);
  }
}
