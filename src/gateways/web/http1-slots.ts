import { newcomersMax } from '../../runtime/newcomer-share.ts';

/**
 * Most HTTP/1.1 requests in flight to all push services together. Bun limits all requests of the process, webhooks
 * included (`BUN_CONFIG_MAX_HTTP_REQUESTS`, set in `bin/fanfare`), so hanging push services must not take them all.
 */
const AT_ONCE = 128;

/** Something that waits for places. */
export interface SlotWaiter {
  /** Begins one more request if there is one and it may have a place; gives whether it did. */
  beginNext(): boolean;
}

/** The places for HTTP/1.1 requests that all push services share. */
export class Http1Slots {
  private underWay = 0;
  private newcomersUnderWay = 0;
  /** The first one is next. */
  private readonly waiting = new Set<SlotWaiter>();

  /** Most places of one push service: no more than it leaves free, so that another always finds one. */
  get mostOfOne(): number {
    return AT_ONCE - this.underWay;
  }

  hasPlace(isNewcomer: boolean): boolean {
    if (this.underWay >= AT_ONCE) return false;
    return !isNewcomer || this.newcomersUnderWay < newcomersMax(AT_ONCE, false);
  }

  take(isNewcomer: boolean): void {
    this.count(isNewcomer, 1);
  }

  /** Gives a place back, and begins what waits for one. */
  giveBack(isNewcomer: boolean): void {
    this.count(isNewcomer, -1);
    for (let hasBegun = true; hasBegun; ) {
      hasBegun = false;
      for (const one of [...this.waiting]) {
        if (!one.beginNext()) continue;
        hasBegun = true;
        // If it still waits, it goes to the end.
        if (this.waiting.delete(one)) this.waiting.add(one);
      }
    }
  }

  wait(one: SlotWaiter): void {
    this.waiting.add(one);
  }

  leave(one: SlotWaiter): void {
    this.waiting.delete(one);
  }

  private count(isNewcomer: boolean, change: 1 | -1): void {
    this.underWay += change;
    if (isNewcomer) this.newcomersUnderWay += change;
  }
}
