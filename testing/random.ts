/** Pseudo-random choices, the same for the same seed. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** From 0 to 1, 1 excluded. */
  readonly next = (): number => {
    // Mulberry32: fast, and even enough for this.
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };

  /** From `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Value>(values: readonly Value[]): Value {
    if (values.length === 0) throw new Error('nothing to pick from');
    return values[Math.floor(this.next() * values.length)] as Value;
  }

  /** Picks one value of a list; `undefined` from an empty list. */
  pickIfAny<Value>(values: readonly Value[]): Value | undefined {
    return values.length === 0 ? undefined : this.pick(values);
  }

  /** Some of them, in their order. */
  some<Value>(values: readonly Value[], probability: number): readonly Value[] {
    return values.filter(() => this.chance(probability));
  }
}
