import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Hub } from '../../channels/hub.ts';
import type { Session } from '../../channels/subscribing/session.ts';
import { disconnect, leaveSome } from '../../channels/subscribing/subscribe.ts';

/** Channels that connections leave in one turn of the loop: some milliseconds. */
const CHANNELS_PER_TURN = 1_000;

/** Channels that are left at once where room is needed: it is then there for the next subscriptions too. */
const CHANNELS_FOR_ROOM = 50;

/**
 * Takes connections that have ended out of their channels: at once as many as one turn of the loop may leave, and the
 * others in later turns. A connection may be in a thousand channels, and many may end at the same moment: nobody else
 * waits for them.
 */
export class Departures {
  private readonly hub: Hub;
  /** The last to end leaves first: taking from the front of a long list costs more. */
  private readonly leaving: Session[] = [];
  /** Channels that may still be left in this turn. */
  private mayLeave = CHANNELS_PER_TURN;
  private working: Promise<void> | undefined;

  constructor(hub: Hub) {
    this.hub = hub;
  }

  add(session: Session): void {
    disconnect(this.hub, session);
    if (session.subscriptionCount === 0) return;
    this.leaving.push(session);
    this.leaveInThisTurn();
    this.working ??= this.work();
  }

  /** Leaves some channels sooner, because others need the room; `false` where none wait to be left. */
  hasten(): boolean {
    return this.leave(CHANNELS_FOR_ROOM) > 0;
  }

  /** Settles when every connection has left its channels. */
  async done(): Promise<void> {
    await this.working;
  }

  private async work(): Promise<void> {
    // Until a turn in which none was left: the next turn then has all of its channels.
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

  /** How many channels were left. */
  private leave(most: number): number {
    let left = 0;
    while (left < most) {
      // Not in the list meanwhile: another connection may end, and be added, because this one leaves.
      const session = this.leaving.pop();
      if (session === undefined) break;
      left += leaveSome(this.hub, session, most - left);
      if (left === most) this.leaving.push(session);
    }
    return left;
  }
}
