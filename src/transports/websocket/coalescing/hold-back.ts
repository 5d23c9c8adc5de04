import { HoldLimit } from './hold-limit.ts';
import { Recurrence } from './recurrence.ts';

/** From this share of a core on that the loop uses, publishes may wait. */
const BUSY_FROM = 0.6;

/** When the last ones were sent so long ago, the next leaves at once. Milliseconds. */
const APART_MS = 5;

/** They wait for another turn of the loop while each brings such a share of what the one before did. */
const NEXT_TURN_MIN = 0.25;

/**
 * Who is answered over a network is heard of again after more than a turn. So when a turn brings less, it is looked whether
 * this time brings such a share of what the first turn did, and saves so many sends, which take about as long. Milliseconds.
 */
const LOOK_MS = 1;
const LOOK_MIN = 0.5;
const LOOK_SAVES_MIN = 100;

/** Where it did not, it is not looked for a time that doubles until it does: meanwhile the loop would have nothing to do. Milliseconds. */
const LOOK_APART_MS = 10;
const LOOK_APART_MS_MAX = 80;

/**
 * None waits where a smaller share of sends goes where one went shortly before. And where waiting saved a smaller share,
 * none waits for a time that doubles. Milliseconds.
 */
const SAVED_MIN = 0.05;
const IN_VAIN_MS = 4;
const IN_VAIN_MS_MAX = 200;

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
 * here a few turns later. So they wait for further turns while those bring more, up to 8 ms, and longer where the loop does
 * not keep up. The loop has to take that in anyway: it does so before it sends and not after, and is idle only for a look
 * at whether more comes from far away.
 *
 * None waits when the loop has time, when the last ones were sent a while ago, when all go to different connections, or
 * when waiting was in vain lately. All leave in the order in which they came.
 */
export class HoldBack {
  private readonly ports: HoldBackPorts;
  private readonly limit = new HoldLimit();
  private readonly recurrence = new Recurrence();
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
  /** How many were held when it was looked last, what the first turn brought, and what the last one did. */
  private seen = 0;
  private cameFirst = 0;
  private cameLast = 0;
  private savedBeforeLook = 0;
  /** A look at what comes from far away was in vain lately: there is none before this. */
  private noLookBeforeMs = Number.NEGATIVE_INFINITY;
  private lookApartMs = LOOK_APART_MS;
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

  /** Publishes it, now or within 8 ms, 50 where there is too much, in which the loop is not held up. */
  publishSoon(publish: Publish): void {
    this.recurrence.note(publish.topic, publish.receivers);
    if (this.held.length > 0 || this.isPublishing) return this.publish(publish);
    // Asked first: where it is so, not even the clock is.
    if (this.recurrence.share < SAVED_MIN) return publish.run();
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
    this.heldSinceMs = nowMs;
    this.seen = 0;
    this.cameFirst = 0;
    this.cameLast = 0;
    this.hold(first);
    // One that is too large to be held has left.
    if (this.held.length > 0) this.awaitTurn();
  }

  private awaitTurn(): void {
    const { batch } = this;
    this.ports.afterTurn(() => {
      if (batch === this.batch) this.turned();
    });
  }

  private turned(): void {
    const before = this.cameLast;
    this.cameLast = this.cameSince();
    this.cameFirst ||= this.cameLast;
    const heldMs = this.ports.now() - this.heldSinceMs;
    if (heldMs >= this.limit.ms) {
      this.limit.reached();
      return this.flushBetweenTurns();
    }
    if (this.cameLast >= before * NEXT_TURN_MIN) return this.awaitTurn();
    this.limit.notReached();
    this.lookOrFlush(heldMs);
  }

  private lookOrFlush(heldMs: number): void {
    const { batch } = this;
    const isPaused = this.heldSinceMs + heldMs < this.noLookBeforeMs;
    if (isPaused || heldMs + LOOK_MS > this.limit.ms) return this.flushBetweenTurns();
    this.savedBeforeLook = this.saved();
    this.ports.after(LOOK_MS, () => {
      if (batch === this.batch) this.look();
    });
  }

  private look(): void {
    this.cameLast = this.cameSince();
    const saves = this.saved() - this.savedBeforeLook;
    if (this.cameLast >= this.cameFirst * LOOK_MIN && saves >= LOOK_SAVES_MIN) {
      this.lookApartMs = LOOK_APART_MS;
      return this.awaitTurn();
    }
    this.noLookBeforeMs = this.ports.now() + this.lookApartMs;
    this.lookApartMs = Math.min(this.lookApartMs * 2, LOOK_APART_MS_MAX);
    this.flushBetweenTurns();
  }

  /** How many sends it saves that what is held leaves together. */
  private saved(): number {
    return this.receivers - this.sends;
  }

  /** How many have come since this was asked last. */
  private cameSince(): number {
    const came = this.held.length - this.seen;
    this.seen = this.held.length;
    return came;
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
    if (this.saved() >= this.receivers * SAVED_MIN) {
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
