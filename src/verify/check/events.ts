import { Ints, NONE } from './lists.ts';
import { Texts } from './texts.ts';

/** The line of what has not happened. */
export const NEVER = 2 ** 31 - 1;

/** Events, each in one channel, numbered from 0 on in the order in which they were sent: a list for each of their fields. */
export class Events {
  /** By index. */
  readonly channel = new Ints();
  /** The lines at which it was sent, first answered with 200, and first received by anybody. */
  readonly sent = new Ints();
  readonly accepted = new Ints();
  readonly seen = new Ints();
  /** The socket that sent a client event, and the one that must not get an event. */
  readonly sender = new Ints();
  readonly except = new Ints();
  /** The event that somebody received next. */
  readonly next = new Ints();
  /** The last chain that was found to have it, and at which of its deliveries. */
  readonly chain = new Ints();
  readonly at = new Ints();
  /** Requests with it that were not answered with 4xx, where that is not one. */
  private readonly hopes = new Map<number, number>();
  private readonly names = new Texts();
  private readonly name = new Ints();
  /** By name the first event, and by event the one of the same name in another channel. */
  private readonly first = new Ints();
  private readonly sibling = new Ints();
  /** The event for which it stands, if its idempotency key was used before. */
  private readonly same = new Ints();

  get size(): number {
    return this.name.length;
  }

  /** Adds an event that was sent at a line. `same`: the one for which it stands. */
  add(name: string, channel: number, sent: number, same = NONE): number {
    const event = this.size;
    const number = this.names.add(name);
    this.name.push(number);
    this.sibling.push(this.first.get(number));
    this.first.set(number, event);
    this.channel.push(channel);
    this.sent.push(sent);
    this.accepted.push(NEVER);
    this.seen.push(NEVER);
    if (same !== NONE) this.same.set(event, same);
    return event;
  }

  nameOf(event: number): string {
    return this.names.text(this.name.get(event));
  }

  /** Since when an event exists: since it was answered with 200, or anybody had it. */
  since(event: number): number {
    return Math.min(this.accepted.get(event), this.seen.get(event));
  }

  /** Whether every request with it was refused. */
  isRefused(event: number): boolean {
    return this.hopes.get(event) === 0;
  }

  /** Counts a request more, or a refusal. */
  hope(event: number, change: 1 | -1): void {
    this.hopes.set(event, (this.hopes.get(event) ?? 1) + change);
  }

  isSent(name: string): boolean {
    return this.names.find(name) !== NONE;
  }

  /** All events of a name, or those for which they stand. */
  *named(name: string): Iterable<number> {
    let event = this.first.get(this.names.find(name));
    for (; event !== NONE; event = this.sibling.get(event)) yield this.meant(event);
  }

  /** The event of a name in a channel, or `NONE`. */
  find(name: string, channel: number): number {
    let event = this.first.get(this.names.find(name));
    while (event !== NONE && this.channel.get(event) !== channel) event = this.sibling.get(event);
    return this.meant(event);
  }

  private meant(event: number): number {
    const same = this.same.get(event);
    return same === NONE ? event : same;
  }
}
