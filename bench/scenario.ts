import type { Comparison, Effort, TriedStep } from './comparison.ts';
import type { Pinning } from './cores.ts';
import type { Contender } from './servers.ts';

/** What every scenario is measured with. */
export interface Bench {
  readonly pinning: Pinning;
  readonly server: Contender;
  readonly floor: Contender;
  readonly effort: Effort;
  /** Whether an impression is enough. */
  readonly isQuick: boolean;
  /** Comparisons of fan-out made so far, by name: some scenarios start from the rates that others hold. */
  readonly comparisons: Map<string, Comparison>;
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
  /** What `--only` calls it. */
  readonly name: string;
  readonly description: string;
  /** What a server that is running already lacks for it; nothing where any server will do. */
  readonly needs?: string;
  run(bench: Bench): Promise<Measurement>;
}

/** Those that were asked for, without those that the server has not what it takes for; nothing means all. */
export function choose<Choice extends Pick<Scenario, 'name' | 'needs'>>(
  scenarios: readonly Choice[],
  only: readonly string[] | undefined,
  isForeign: boolean,
): { readonly measured: readonly Choice[]; readonly leftOut: readonly Choice[] } {
  const asked = scenarios.filter(({ name }) => only === undefined || only.includes(name));
  const isLeftOut = ({ needs }: Choice) => isForeign && needs !== undefined;
  return {
    measured: asked.filter((scenario) => !isLeftOut(scenario)),
    leftOut: asked.filter(isLeftOut),
  };
}
