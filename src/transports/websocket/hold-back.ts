/** From this share of a core on that the loop uses, publishes may wait. */
const BUSY_FROM = 0.6;

/** When the last ones were sent so long ago, the next leaves at once. Milliseconds. */
const APART_MS = 5;

/** How often it is looked whether waiting brings more, and how long it may take in all. Milliseconds. */
const LOOK_MS = 1;
const HOLD_MS_MAX = 8;

/** They wait on while a look finds so many times as many, or so many came in each millisecond. */
const GROWTH_MIN = 1.25;
const RATE_MIN = 10;

/** Where waiting saved a smaller share of what would have been sent, none waits for a time that doubles. Milliseconds. */
const SAVED_MIN = 0.05;
const IN_VAIN_MS = 100;
const IN_VAIN_MS_MAX = 1600;

/** More of one topic do not leave in one write: that is as many as Bun puts together for one connection. */
const MERGED_MAX = 32;

/** More than that is not held, in publishes and in characters of their frames. */
const HELD_MAX = 4096;
const HELD_CHARACTERS_MAX = 1024 * 1024;

export interface HoldBackPorts {
  /** Milliseconds that only go forward. */
  readonly now: () => number;
  /** How busy the loop was lately: the share of a core, from 0 to 1. */
  readonly busyShare: (nowMs: number) => number;
  readonly after: (delayMs: number, run: () => void) => unknown;
  /** Runs once this turn of the loop has sent what it published. */
  readonly afterTurn: (run: () => void) => void;
}

/** Something that is to be published. */
export interface Publish {
  readonly topic: string;
  readonly frame: string;
  /** How many connections it goes to. */
  readonly receivers: number;
  run(): void;
}

/**
 * Lets publishes wait for others while the loop is busy, so that they leave together: what one connection gets in
 * one turn of the loop is one write of the kernel, which is what nearly all of the time goes to.
 *
 * Those of one turn leave together anyway, but no more of them than there are connections that publish, each of which
 * sends the next only when the last was answered. What waits is answered meanwhile, so all that backends have to send is
 * here within a few milliseconds. So they wait while that brings more, or as many as keep the loop busy, up to 8 ms.
 *
 * None waits when the loop has time, when the last ones were sent a while ago, or when waiting was in vain lately,
 * because all went to different connections. All leave in the order in which they came.
 */
export class HoldBack {
  private readonly ports: HoldBackPorts;
  private held: Publish[] = [];
  /** How many are held of each topic. */
  private readonly ofTopics = new Map<string, number>();
  private characters = 0;
  /** How many connections all that is held goes to, and how many if all of one topic leaves at once. */
  private receivers = 0;
  private sends = 0;
  /** When what left last was sent; `'unknown'` until something shows that it was. */
  private sentAtMs: number | 'unknown' = Number.NEGATIVE_INFINITY;
  /** Something was published in this turn of the loop: what joins it costs nothing more. */
  private isPublishing = false;
  /** It was in vain lately: none waits before this. */
  private notBeforeMs = Number.NEGATIVE_INFINITY;
  private inVainMs = IN_VAIN_MS;
  private heldSinceMs = 0;
  /** When it was looked last, and how many were held then. */
  private lookedAtMs = 0;
  private seen = 0;
  /** Tells what is held now from what was held when a timer was set. */
  private batch = 0;

  constructor(ports: HoldBackPorts) {
    this.ports = ports;
  }

  /** Publishes it after all that wait, or at once where none does. */
  publish(publish: Publish): void {
    if (this.held.length > 0) this.hold(publish);
    else publish.run();
  }

  /** Publishes it, now or within 8 ms in which the loop is not held up. */
  publishSoon(publish: Publish): void {
    if (this.held.length > 0 || this.isPublishing) return this.publish(publish);
    const nowMs = this.ports.now();
    if (nowMs < this.notBeforeMs || this.ports.busyShare(nowMs) < BUSY_FROM) {
      this.sentAtMs = nowMs;
      return publish.run();
    }
    // Whoever publishes is called by a loop that has sent what was published before its turn.
    if (this.sentAtMs === 'unknown') this.sentAtMs = nowMs;
    if (nowMs - this.sentAtMs < APART_MS) return this.beginHolding(nowMs, publish);
    this.beginTurn();
    publish.run();
  }

  /** Publishes what is held. To be called before anything that must come after it. */
  flush(): void {
    if (this.held.length === 0) return;
    this.beginTurn();
    this.release();
  }

  private beginHolding(nowMs: number, first: Publish): void {
    const { batch } = this;
    this.heldSinceMs = nowMs;
    this.hold(first);
    // What came with the first says nothing of what waiting brings.
    this.ports.afterTurn(() => {
      if (batch === this.batch) this.lookAgain();
    });
  }

  private lookAgain(): void {
    const { batch } = this;
    this.lookedAtMs = this.ports.now();
    this.seen = this.held.length;
    this.ports.after(LOOK_MS, () => {
      if (batch === this.batch) this.look();
    });
  }

  private look(): void {
    const nowMs = this.ports.now();
    const count = this.held.length;
    const bringsMore =
      count >= this.seen * GROWTH_MIN || count - this.seen >= (nowMs - this.lookedAtMs) * RATE_MIN;
    if (bringsMore && nowMs - this.heldSinceMs + LOOK_MS <= HOLD_MS_MAX) return this.lookAgain();
    this.flushBetweenTurns();
  }

  private hold(publish: Publish): void {
    const ofTopic = (this.ofTopics.get(publish.topic) ?? 0) + 1;
    this.ofTopics.set(publish.topic, ofTopic);
    this.held.push(publish);
    this.characters += publish.frame.length;
    this.receivers += publish.receivers;
    if (ofTopic === 1) this.sends += publish.receivers;
    // Nothing is gained by holding more.
    if (
      ofTopic >= MERGED_MAX ||
      this.held.length >= HELD_MAX ||
      this.characters >= HELD_CHARACTERS_MAX
    ) {
      this.flush();
    }
  }

  private beginTurn(): void {
    if (this.isPublishing) return;
    this.isPublishing = true;
    this.ports.afterTurn(() => {
      this.isPublishing = false;
      this.sentAtMs = this.ports.now();
    });
  }

  /** A timer runs before the loop sends and then reads on: what it reads then has to wait again. */
  private flushBetweenTurns(): void {
    this.sentAtMs = 'unknown';
    this.release();
    // The first turn ends before the loop sends.
    this.ports.afterTurn(() => this.ports.afterTurn(() => this.noteSent()));
  }

  private noteSent(): void {
    if (this.sentAtMs === 'unknown') this.sentAtMs = this.ports.now();
  }

  /** Whether it was worth it to wait for what is held. */
  private judge(): void {
    if (this.receivers - this.sends >= this.receivers * SAVED_MIN) {
      this.inVainMs = IN_VAIN_MS;
      return;
    }
    this.notBeforeMs = this.ports.now() + this.inVainMs;
    this.inVainMs = Math.min(this.inVainMs * 2, IN_VAIN_MS_MAX);
  }

  private release(): void {
    const { held } = this;
    this.judge();
    this.held = [];
    this.ofTopics.clear();
    this.characters = 0;
    this.receivers = 0;
    this.sends = 0;
    this.batch++;
    for (const publish of held) publish.run();
  }
}
