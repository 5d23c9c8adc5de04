/** The position of an answer among the messages of a topic. */
export class SequencePlace {
  /** The number of the last message before it; `undefined` until the answer has come. */
  number: number | undefined;
  run: (() => void) | undefined;
  /** Messages after it may have been missed: reaching it does not mean that the next ones will come. */
  isBeforeCut = false;
}

export interface Numbered<Message> {
  readonly number: number;
  readonly message: Message;
}

/** Messages after this number were missed. */
export interface Gap {
  readonly place: SequencePlace;
  readonly after: number;
}

export interface SequenceOptions<Message> {
  /** `isLate`: an answer that belongs after this message has been handled already. */
  readonly deliver: (message: Message, isLate: boolean) => void;
  /** Messages are missing before the one that is delivered next. */
  readonly missing?: () => void;
  /** Messages were missed, and the one after them has been delivered. */
  readonly missed: () => void;
}

/**
 * Puts the messages of one topic, and the answers that have a position among them, into one order.
 *
 * Messages and answers come over different connections. While an answer is awaited, messages are held: they may
 * belong before or after it. An answer waits until the messages before it have come.
 */
export class Sequence<Message> {
  private readonly options: SequenceOptions<Message>;
  /** The last number that was delivered or is covered by an answer; `undefined` if nothing is known yet. */
  private last: number | undefined;
  /** Messages up to this number that have not arrived are known to be missing. */
  private covered = 0;
  /** The number of the last message that has come. */
  private received = 0;
  /** No connection of this loop has entered yet, so messages before the first answer have no receivers. */
  private isNew = true;
  private held: Numbered<Message>[] = [];
  private places: SequencePlace[] = [];
  private isAdvancing = false;
  private openGap: Gap | undefined;

  constructor(options: SequenceOptions<Message>) {
    this.options = options;
  }

  /** Set while everything waits for missed messages to be read. */
  get gap(): Gap | undefined {
    return this.openGap;
  }

  /** Handles the next message of the stream. */
  receive(number: number, message: Message): void {
    if (number <= this.received) return;
    this.received = number;
    // The message has no receivers. If it counted, the first answer would wait for the numbers in between, which may
    // not exist.
    if (this.isNew && this.places.length === 0) return;
    if (this.places.length === 0 && this.held.length === 0 && !this.isAdvancing) {
      this.deliver({ number, message });
      return;
    }
    this.held.push({ number, message });
    this.advance();
  }

  /** Reserves a position for an answer. Called before the question is sent. */
  begin(): SequencePlace {
    const place = new SequencePlace();
    this.places.push(place);
    return place;
  }

  /** The answer has come. `run` is called at its position. */
  answer(place: SequencePlace, number: number, run: () => void): void {
    // After a reset, the position is unknown.
    if (!this.places.includes(place)) return run();
    place.number = number;
    place.run = run;
    this.advance();
  }

  /** The answer will never come. */
  drop(place: SequencePlace): void {
    this.places = this.places.filter((one) => one !== place);
    if (this.isNew && this.places.length === 0) this.held = [];
    this.advance();
  }

  /** Messages may have been missed: holds everything until `fill`. */
  cut(): void {
    if (this.openGap !== undefined) {
      // A read in progress may lack what was missed since.
      this.places = this.places.filter((one) => one !== this.openGap?.place);
      this.openGap = { place: new SequencePlace(), after: this.openGap.after };
    } else {
      this.openGap = { place: new SequencePlace(), after: this.received };
    }
    this.places.unshift(this.openGap.place);
  }

  /**
   * Delivers missed messages, up to the number `upTo`, at their position. Does nothing if more has been missed since
   * `gap`.
   */
  fill(
    gap: Gap,
    { missed, upTo }: { readonly missed: readonly Numbered<Message>[]; readonly upTo: number },
  ): void {
    const { openGap, held } = this;
    if (openGap !== gap) return;
    this.openGap = undefined;
    const known = new Set(held.map(({ number }) => number));
    // Later ones are in flight.
    const isMissed = (number: number) => number > gap.after && (number <= upTo || upTo === 0);
    const unknown = missed.filter(({ number }) => isMissed(number) && !known.has(number));
    this.held = [...held, ...unknown].sort((one, other) => one.number - other.number);
    // Only events and changes of members are kept, so numbers between them may be missing.
    this.covered = upTo;
    this.received = Math.max(this.received, this.held.at(-1)?.number ?? 0, upTo);
    if (upTo > 0) this.last ??= Math.min(gap.after, upTo);
    this.drop(gap.place);
  }

  /** Starts the numbers anew, because the authority has forgotten the topic. */
  reset(): void {
    this.resync();
    this.received = 0;
    this.covered = 0;
  }

  /** Messages may have been missed: delivers what has come, and no longer waits for messages that may be lost. */
  private resync(): void {
    if (this.openGap === undefined) {
      const { held } = this;
      this.held = [];
      for (const one of held) this.deliver(one);
    }
    for (const place of this.places) place.isBeforeCut = true;
    this.last = undefined;
    this.advance();
  }

  private advance(): void {
    if (this.isAdvancing) return;
    this.isAdvancing = true;
    try {
      while (this.next());
    } finally {
      this.isAdvancing = false;
    }
  }

  /** Handles the next message or answer; `false` if it has to wait. */
  private next(): boolean {
    const [place] = this.places;
    const [first] = this.held;
    if (place === undefined || this.isBefore(first, place)) {
      if (first === undefined) return false;
      this.held.shift();
      this.deliver(first);
      return true;
    }
    const { number, run } = place;
    if (number === undefined || run === undefined) return false;
    const { last, covered } = this;
    const isReached =
      last === undefined || Math.max(last, covered) >= number || first !== undefined;
    if (!isReached) return false;
    if (last === undefined || last < number) {
      if (last !== undefined && covered < number) {
        this.options.missing?.();
        this.options.missed();
      } else if (last === undefined)
        this.held = this.held.filter((one) => one.number > number || this.late(one));
      if (this.isNew) this.received = Math.max(this.received, number);
      if (!place.isBeforeCut || covered >= number) this.last = number;
    }
    this.isNew = false;
    this.places.shift();
    run();
    return true;
  }

  /** Whether a message must be delivered before an answer that has come. */
  private isBefore(first: Numbered<Message> | undefined, place: SequencePlace): boolean {
    if (first === undefined || place.number === undefined || this.last === undefined) return false;
    return first.number <= place.number;
  }

  private late({ message }: Numbered<Message>): boolean {
    this.options.deliver(message, true);
    return false;
  }

  private deliver({ number, message }: Numbered<Message>): void {
    if (this.last !== undefined && number <= this.last) {
      return this.options.deliver(message, true);
    }
    const isMissing = this.last !== undefined && number > Math.max(this.last, this.covered) + 1;
    this.last = number;
    if (isMissing) this.options.missing?.();
    this.options.deliver(message, false);
    if (isMissing) this.options.missed();
  }
}
