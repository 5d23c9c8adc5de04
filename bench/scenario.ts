import type { Effort, TriedStep } from './fan-out/comparison.ts';
import type { Pinning } from './machine/cores.ts';
import type { Contender } from './servers.ts';

/** What every scenario is measured with. */
export interface Bench {
  readonly pinning: Pinning;
  readonly server: Contender;
  readonly floor: Contender;
  readonly effort: Effort;
  /** Whether an impression is enough. */
  readonly isQuick: boolean;
  /** Receives progress messages, for people. */
  readonly log: (line: string) => void;
  readonly logStep: (server: string, step: TriedStep) => void;
}

/** The result of a scenario: for people, and for programs. */
export interface Measurement {
  readonly text: string;
  readonly figures: unknown;
}

/** A measurement, compared with the floor or with another variant. */
export interface Scenario {
  readonly name: string;
  readonly description: string;
  /** The reason why a server that is already running cannot be measured; `undefined` if any server can. */
  readonly needs?: string;
  run(bench: Bench): Promise<Measurement>;
}

/** Divides the chosen scenarios (all if none is named) into those that a server can run, and those that it cannot. */
export function choose<Choice extends Pick<Scenario, 'name' | 'needs'>>(
  scenarios: readonly Choice[],
  names: readonly string[],
  isForeign: boolean,
): { readonly measured: readonly Choice[]; readonly leftOut: readonly Choice[] } {
  const asked = scenarios.filter(({ name }) => names.length === 0 || names.includes(name));
  const isLeftOut = ({ needs }: Choice) => isForeign && needs !== undefined;
  return {
    measured: asked.filter((scenario) => !isLeftOut(scenario)),
    leftOut: asked.filter(isLeftOut),
  };
}
