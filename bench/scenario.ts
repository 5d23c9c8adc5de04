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
  /** Hears what happens, for whoever watches. */
  readonly tell: (line: string) => void;
  readonly tellStep: (server: string, step: TriedStep) => void;
}

/** What a scenario came to: for people, and for programs. */
export interface Measurement {
  readonly text: string;
  readonly figures: unknown;
}

/** One thing that is measured, beside the floor or beside itself. */
export interface Scenario {
  readonly name: string;
  readonly description: string;
  /** What a server that is running already lacks for it; nothing where any server will do. */
  readonly needs?: string;
  run(bench: Bench): Promise<Measurement>;
}

/** Divides the chosen scenarios (none named: all) into those that a server can run, and those that it cannot. */
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
