/** From this share of a core on that the loop uses, publishes may wait. */
const BUSY_FROM = 0.6;

/** When the last ones were sent so long ago, the next leaves at once. Milliseconds. */
const APART_MS = 5;

/** How often it is looked whether waiting brings more, and how long it may take in all. Milliseconds. */
const LOOK_MS = 1;
const HOLD_MS_MAX = 5;

/** They wait on while there are so many times as many at each look. */
const GROWTH_MIN = 1.25;

/** So many in one turn come from many connections: waiting would bring few more, and none waits. */
const ENOUGH_AT_ONCE = 32;

/** Where fewer of those that waited shared a topic with another, none waits for so long. Milliseconds. */
const SHARED_MIN = 0.1;
const IN_VAIN_MS = 100;

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
  run(): void;
}

/**
 * Lets publishes wait for others while the loop is busy, so that they leave together: what one connection gets in
 * one turn of the loop is one write of the kernel, which is what nearly all of the time goes to.
 *
 * Those of one turn leave together anyway. That is enough where many connections publish, and not where few do,
 * each of which sends the next only when the last was answered: then all that those few have to send is here within
 * a few milliseconds of having been answered. So they wait while that brings more, up to 5 ms.
 *
 * None waits when the loop has time, when the last ones were sent a while ago, or when waiting was in vain lately,
 * because all were for different topics. All leave in the order in which they came.
 */
export class HoldBack {
  private readonly ports: HoldBackPorts;
  private held: Publish[] = [];
  /** How many are held of each topic. */
  private readonly ofTopics = new Map<string, number>();
  private characters = 0;
  /** When what left last was sent; `'unknown'` until something shows that it was. */
  private sentAtMs: number | 'unknown' = Number.NEGATIVE_INFINITY;
  /** Something was published in this turn of the loop: what joins it costs nothing more. */
  private isPublishing = false;
  /** It was in vain lately: none waits before this. */
  private notBeforeMs = Number.NEGATIVE_INFINITY;
  private heldSinceMs = 0;
  /** How many were held at the last look. */
  private seen = 0;
  /** Tells what is held now from what was held when a timer was set. */
  private batch = 0;

  constructor(ports: HoldBackPorts) {
    this.ports = ports;
  }

  /** Publishes it, now or within 5 ms of time in which the loop is not held up. */
  publish(publish: Publish): void {
    if (this.held.length === 0) {
      if (this.isPublishing) return publish.run();
      const nowMs = this.ports.now();
      if (!this.mayWait(nowMs)) {
        this.beginTurn();
        return publish.run();
      }
      this.beginHolding(nowMs);
    }
    if (this.hold(publish)) this.flush();
  }

  /** Publishes what is held. To be called before anything that must come after it. */
  flush(): void {
    if (this.held.length === 0) return;
    this.beginTurn();
    this.release();
  }

  private mayWait(nowMs: number): boolean {
    // Whoever publishes is called by a loop that has sent what was published before its turn.
    if (this.sentAtMs === 'unknown') this.sentAtMs = nowMs;
    if (nowMs < this.notBeforeMs || nowMs - this.sentAtMs >= APART_MS) return false;
    return this.ports.busyShare(nowMs) >= BUSY_FROM;
  }

  private beginHolding(nowMs: number): void {
    const { batch } = this;
    this.heldSinceMs = nowMs;
    this.seen = 0;
    // What came with the first says nothing of what waiting brings.
    this.ports.afterTurn(() => {
      if (batch !== this.batch) return;
      this.seen = this.held.length;
      if (this.seen >= ENOUGH_AT_ONCE) this.flush();
    });
    this.ports.after(LOOK_MS, () => this.look(batch));
  }

  private look(batch: number): void {
    if (batch !== this.batch) return;
    const hasGrown = this.held.length >= this.seen * GROWTH_MIN;
    const isEarly = this.ports.now() - this.heldSinceMs + LOOK_MS <= HOLD_MS_MAX;
    if (!hasGrown || !isEarly) return this.flushBetweenTurns();
    this.seen = this.held.length;
    this.ports.after(LOOK_MS, () => this.look(batch));
  }

  /** `true`: nothing is gained by holding more. */
  private hold(publish: Publish): boolean {
    const ofTopic = (this.ofTopics.get(publish.topic) ?? 0) + 1;
    this.ofTopics.set(publish.topic, ofTopic);
    this.held.push(publish);
    this.characters += publish.frame.length;
    return (
      ofTopic >= MERGED_MAX ||
      this.held.length >= HELD_MAX ||
      this.characters >= HELD_CHARACTERS_MAX
    );
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

  private release(): void {
    const { held } = this;
    if (held.length - this.ofTopics.size < held.length * SHARED_MIN) {
      this.notBeforeMs = this.ports.now() + IN_VAIN_MS;
    }
    this.held = [];
    this.ofTopics.clear();
    this.characters = 0;
    this.batch++;
    for (const publish of held) publish.run();
  }
}
