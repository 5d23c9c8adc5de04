import { hashOf, PLACES, placeOf } from '../../clients/topic-place.ts';

/** A topic recurs that was among so many publishes before: about as many as a busy loop takes in within 8 ms. */
const AMONG = 128;

/** How much of what was known stays with each publish. */
const KEPT = 1 - 1 / AMONG;

/**
 * How large a share of all sends goes to connections that shortly before were sent something of the same topic:
 * what can be put together if publishes wait for others, however long they wait. Nothing has to wait to learn it.
 */
export class Recurrence {
  /**
   * Which topic was last in each place, and which publish that was. Where topics share a place, each makes the other forgotten.
   * Told by its hash: strings that are kept for a while outlive the quick collections of garbage, and bring on slow ones.
   */
  private readonly hashes = new Int32Array(PLACES);
  private readonly numbers = new Float64Array(PLACES);
  private number = 0;
  /** Sends, of which those that are long past count for little. */
  private all = 0;
  private again = 0;

  /** From 0 to 1; 1 while too little is known. */
  get share(): number {
    return this.all === 0 ? 1 : this.again / this.all;
  }

  /** To be called for each publish. `receivers` are the connections it goes to. */
  note(topic: string, receivers: number): void {
    // As if there had been others like the first one before it.
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
