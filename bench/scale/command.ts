import type { ParseArgsConfig, parseArgs } from 'node:util';
import { Evidence } from '../../testing/evidence/evidence.ts';
import type { EvidenceResult } from '../../testing/evidence/rows.ts';
import { describeConditions } from '../machine/conditions.ts';
import { findPinning, type Pinning } from '../machine/cores.ts';
import { goFirst } from '../machine/priority.ts';
import { parseOptions, writeResults } from '../options.ts';
import { printConditions } from '../report.ts';

type OwnOptions = NonNullable<ParseArgsConfig['options']>;
type Values<Options extends OwnOptions> = ReturnType<
  typeof parseArgs<{ options: Options }>
>['values'];

/** The options that every command has. */
const COMMON = {
  json: { type: 'string' },
  record: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

const COMMON_HELP = [
  ['--json FILE', 'also write the results to this file'],
  ['--record', 'keep the results in bench/evidence'],
  ['--help', 'print this'],
] as const;

/** What a command has measured. */
interface Measured {
  /** For `--json`. */
  readonly figures: object;
  /** Whether it is as it must be; without it, there was nothing to decide. */
  readonly isHeld?: boolean;
}

/** A command below `npm run bench`. */
interface ScaleCommand<Options extends OwnOptions> {
  readonly name: string;
  /** What it measures, in whole lines. */
  readonly about: string;
  readonly options: Options;
  /** A line for each option, or several for one. */
  readonly help: readonly (readonly [option: string, text: string])[];
  /** Measures and prints. `record` keeps a row of evidence, if that was asked for. */
  readonly measure: (
    values: Values<Options>,
    record: (row: EvidenceResult) => void,
  ) => Promise<Measured>;
}

/** Makes what runs a command: it returns the exit code, and throws `UsageError`. */
export function scaleCommand<Options extends OwnOptions>({
  name,
  about,
  options,
  help,
  measure,
}: ScaleCommand<Options>): (args: string[]) => Promise<number> {
  return async (args) => {
    const { values }: { readonly values: unknown } = parseOptions({
      args,
      options: { ...options, ...COMMON },
    });
    const common = values as Values<typeof COMMON>;
    if (common.help) {
      const all = [...help, ...COMMON_HELP];
      const width = Math.max(...all.map(([option]) => option.length));
      const lines = all.map(([option, text]) => `  ${option.padEnd(width)}  ${text}`);
      console.log([about, '', `npm run bench -- ${name} [options]`, '', ...lines].join('\n'));
      return 0;
    }
    // Before the run: a row names the commit that was run.
    const evidence = common.record ? Evidence.open() : undefined;
    const record = (row: EvidenceResult) => evidence?.record(row);
    const { figures, isHeld = true } = await measure(values as Values<Options>, record);
    await writeResults(common.json, figures);
    return isHeld ? 0 : 1;
  };
}

/** Chooses the cores of the server and of its load, and prints what the figures depend on. */
export function pinned(): Pinning {
  const pinning = findPinning();
  console.log(printConditions(describeConditions(`${pinning.description}, ${goFirst()}`)));
  return pinning;
}
