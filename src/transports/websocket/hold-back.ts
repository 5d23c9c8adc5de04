/** How long a publish may wait for others. Milliseconds. */
const HOLD_MS_MAX = 5;

/** Less than a timer can tell apart is not waited. Milliseconds. */
const HOLD_MS_MIN = 0.5;

/** The share of a core that the loop uses from which on publishes wait, and at which they wait as long as they may. */
const BUSY_FROM = 0.7;
const BUSIEST = 1;

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
 * one turn of the loop is one write of the kernel, which is what nearly all of the time goes to. A publish leaves
 * at once when the loop has time, or when the last one left a while ago; that while grows with the load, up to 5
 * ms. All leave in the order in which they came.
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

  constructor(ports: HoldBackPorts) {
    this.ports = ports;
  }

  /** Publishes it, now or within 5 ms of time in which the loop is not held up. */
  publish(publish: Publish): void {
    if (this.held.length === 0 && this.isPublishing) return publish.run();
    if (this.held.length === 0) {
      const waitMs = this.waitMs();
      if (waitMs < HOLD_MS_MIN) {
        this.beginTurn();
        return publish.run();
      }
      this.ports.after(waitMs, () => this.flushBetweenTurns());
    }
    if (this.hold(publish)) this.flush();
  }

  /** Publishes what is held. To be called before anything that must come after it. */
  flush(): void {
    if (this.held.length === 0) return;
    this.beginTurn();
    this.release();
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

  private waitMs(): number {
    const { now, busyShare } = this.ports;
    const nowMs = now();
    const busy = Math.min(1, Math.max(0, (busyShare(nowMs) - BUSY_FROM) / (BUSIEST - BUSY_FROM)));
    // Whoever publishes is called by a loop that has sent what was published before its turn.
    if (this.sentAtMs === 'unknown') this.sentAtMs = nowMs;
    return this.sentAtMs + HOLD_MS_MAX * busy - nowMs;
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
    if (this.held.length === 0) return;
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
    this.held = [];
    this.ofTopics.clear();
    this.characters = 0;
    for (const publish of held) publish.run();
  }
}
