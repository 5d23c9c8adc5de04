import { loadConfig } from '../config/load.ts';
import { formatProblem } from '../config/problems.ts';
import type { Config } from '../config/schema.ts';
import type { Output } from './output.ts';

/** Reads the configuration, or lists everything that is wrong with it and gives `undefined`. */
export function readConfig(file: string | undefined, output: Output): Config | undefined {
  const loaded = loadConfig({
    ...(file === undefined ? {} : { file }),
    directory: process.cwd(),
    environment: process.env,
  });
  if (loaded.ok) return loaded.config;
  const where = loaded.source === undefined ? '' : ` in ${loaded.source}`;
  output.complain(`The configuration${where} cannot be used:`);
  for (const problem of loaded.problems) output.complain(`  ${formatProblem(problem)}`);
  return undefined;
}
