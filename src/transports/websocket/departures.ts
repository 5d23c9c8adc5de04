import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Hub } from '../../channels/hub.ts';
import type { Session } from '../../channels/session.ts';
import { disconnect, leaveAll, leaveSome } from '../../channels/subscribe.ts';

/** Channels that connections leave in one turn of the loop: some milliseconds. */
const CHANNELS_PER_TURN = 1_000;

/** A connection in no more channels than this leaves them at once. */
const AT_ONCE_MAX = 50;

/**
 * Takes connections that have ended out of their channels. A connection may be in a thousand of them, and many may end
 * at the same moment: those leave in several turns of the loop, so that nobody else waits for it.
 */
export class Departures {
  private readonly hub: Hub;
  private readonly leaving: Session[] = [];
  private working: Promise<void> | undefined;

  constructor(hub: Hub) {
    this.hub = hub;
  }

  add(session: Session): void {
    if (session.subscriptionCount <= AT_ONCE_MAX) return leaveAll(this.hub, session);
    disconnect(this.hub, session);
    this.leaving.push(session);
    this.working ??= this.work();
  }

  /** Settles when every connection has left its channels. */
  async done(): Promise<void> {
    await this.working;
  }

  private async work(): Promise<void> {
    while (this.leaving.length > 0) {
      await nextTurn();
      this.leaveInOneTurn();
    }
    this.working = undefined;
  }

  private leaveInOneTurn(): void {
    for (let left = CHANNELS_PER_TURN; left > 0; ) {
      const session = this.leaving[0];
      if (session === undefined) return;
      const before = session.subscriptionCount;
      if (!leaveSome(this.hub, session, left)) this.leaving.shift();
      left -= Math.max(1, before - session.subscriptionCount);
    }
  }
}
