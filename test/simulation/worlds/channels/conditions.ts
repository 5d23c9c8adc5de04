import type { Random } from '../../../../testing/random.ts';

/** How often something happens. Times per second. */
export interface Rates {
  readonly triggers: number;
  readonly whispers: number;
  /** Clients leave a channel, or come back. */
  readonly moves: number;
  /** Clients close their connection, and open another one. */
  readonly reopens: number;
  readonly cuts: number;
  readonly silences: number;
  readonly slowReaders: number;
  /** What happens to servers. */
  readonly serverFaults: number;
}

/** What a seed has drawn for its world. */
export interface Conditions {
  readonly chaosMs: number;
  readonly clients: number;
  readonly rates: Rates;
  /** How many connections are cut right behind a frame. */
  readonly cutsBehindFrame: number;
  readonly leastMs: number;
  readonly spreadMs: number;
  readonly stallChance: number;
  /** Between loops. */
  readonly loopSpreadMs: number;
  readonly loopStallChance: number;
  /** How much of a core the loops seem to use. */
  readonly busyShare: number;
  /** How long an event of a loop takes. Milliseconds. */
  readonly eventMs: number;
  /** Events that a channel with a history keeps. */
  readonly keptEvents: number;
}

export function drawConditions(random: Random): Conditions {
  const hasFaults = random.chance(0.85);
  const faulty = (...values: readonly number[]) => (hasFaults ? random.pick(values) : 0);
  return {
    chaosMs: random.between(8_000, 25_000),
    clients: random.between(3, 11),
    rates: {
      triggers: random.pick([2, 5, 10, 20]),
      whispers: random.pick([0, 1, 2]),
      moves: random.pick([0, 0.2, 1]),
      reopens: random.pick([0, 0.2]),
      cuts: faulty(0, 0.2, 1, 3),
      silences: faulty(0, 0, 0, 0.15),
      slowReaders: faulty(0, 0, 0.2),
      serverFaults: faulty(0, 0.1, 0.2),
    },
    cutsBehindFrame: faulty(0, 0.002, 0.01, 0.03),
    leastMs: random.pick([0.1, 1, 20]),
    spreadMs: random.pick([1, 20, 200]),
    stallChance: faulty(0, 0.01, 0.05),
    loopSpreadMs: random.pick([0.1, 1, 20]),
    loopStallChance: faulty(0, 0, 0.02),
    busyShare: random.pick([0, 0.3, 0.7, 0.95]),
    eventMs: random.pick([0, 0, 0.05, 0.5]),
    keptEvents: random.pick([5, 20, 100]),
  };
}
