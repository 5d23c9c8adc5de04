import type { RuleName } from '../../../src/verify/check/verdict.ts';

/** A world of servers, clients and faults, in which a seed decides everything that happens. */
export interface World {
  /** The faults that can be planted in it, with the rule that must find each. */
  readonly sabotages: Readonly<Record<string, RuleName>>;
  /** Plays one seed to its end. */
  run(seed: Seed): Promise<SeedResult>;
}

/** One run of a world. */
export interface Seed {
  readonly seed: number;
  /** A fault that is planted; one of `sabotages`. */
  readonly sabotage: string | undefined;
  /** Gets a line for each step; `undefined`: nobody reads them. */
  readonly trace: ((line: string) => void) | undefined;
  /** Gets each line of the history, without its end. The same seed must give the same lines. */
  readonly history: (line: string) => void;
}

export interface SeedResult {
  /** How long it lasted in the world. */
  readonly virtualMs: number;
  readonly deliveries: number;
  readonly faults: number;
  readonly broken: readonly Broken[];
}

/** A promise that was not kept. */
export interface Broken {
  /** The rule of the checker, or another word for what only this world checks. */
  readonly rule: string;
  readonly text: string;
}
