import { PLACES, placeOf } from './topic-place.ts';

/** A topic recurs that was among so many publishes before: about as many as a busy loop takes in within 8 ms. */
const AMONG = 128;

/** How much of what was known stays with each publish. */
const KEPT = 1 - 1 / AMONG;

/**
 * How large a share of all sends goes to connections that shortly before were sent something of the same topic:
 * what can be put together if publishes wait for others, however long they wait. Nothing has to wait to learn it.
 */
export class Recurrence {
  /** What was last in each place, and which publish that was. Where topics share a place, each makes the other forgotten. */
  private readonly topics: string[] = new Array<string>(PLACES).fill('');
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
    const place = placeOf(topic);
    const number = ++this.number;
    const before = this.topics[place] === topic ? (this.numbers[place] ?? 0) : 0;
    this.topics[place] = topic;
    this.numbers[place] = number;
    return before > 0 && number - before <= AMONG;
  }
}
