import { hashOf, PLACES, placeOf } from '../../clients/frames/topic-place.ts';

/** A topic recurs if it was among this many publishes before: about what a busy loop receives in 8 ms. */
const AMONG = 128;

/** Exponential decay of the sums, per publish. */
const KEPT = 1 - 1 / AMONG;

/**
 * Estimates the share of sends that could be merged if publishes waited: sends to the subscribers of a topic that was
 * published within the last 128 publishes. Learning this needs no waiting.
 */
export class MergeEstimate {
  /**
   * The last topic of each place, as a hash, and the number of its publish. Topics that share a place overwrite each other.
   * Numbers, because strings that are kept for a while survive the quick garbage collections and cause slow ones.
   */
  private readonly hashes = new Int32Array(PLACES);
  private readonly numbers = new Float64Array(PLACES);
  private number = 0;
  /** Decaying sums of all sends, and of those to topics that recur. */
  private all = 0;
  private again = 0;

  /** From 0 to 1; 1 before the first publish. */
  get share(): number {
    return this.all === 0 ? 1 : this.again / this.all;
  }

  /** Call it for each publish. `receivers`: the connections that it goes to. */
  note(topic: string, receivers: number): void {
    // The first publish counts as if many like it had come before.
    if (this.all === 0) this.all = this.again = receivers * AMONG;
    this.all = this.all * KEPT + receivers;
    this.again *= KEPT;
    if (this.recurs(topic)) this.again += receivers;
  }

  private recurs(topic: string): boolean {
    const hash = hashOf(topic);
    const place = placeOf(hash);
    const number = ++this.number;
    const before = this.hashes[place] === hash ? (this.numbers[place] ?? 0) : 0;
    this.hashes[place] = hash;
    this.numbers[place] = number;
    return before > 0 && number - before <= AMONG;
  }
}
