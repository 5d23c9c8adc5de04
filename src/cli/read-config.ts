import { formatProblem } from '../config/file/problems.ts';
import { loadConfig, type UsableConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import type { Invocation } from './invocation.ts';

/** Reads the configuration. Prints every problem and returns `undefined` if it cannot be used. */
export function readConfig(invocation: Invocation): Config | undefined {
  return readWholeConfig(invocation)?.config;
}

/** Reads the configuration, with the file that it comes from. Prints every problem and returns `undefined` if it cannot be used. */
export function readWholeConfig({ given, output }: Invocation): UsableConfig | undefined {
  const file = given.value('config');
  const loaded = loadConfig({
    ...(file === undefined ? {} : { file }),
    directory: process.cwd(),
    environment: process.env,
  });
  if (loaded.ok) return loaded;
  const where = loaded.source === undefined ? '' : ` in ${loaded.source}`;
  output.complain(`The configuration${where} cannot be used:`);
  for (const problem of loaded.problems) output.complain(`  ${formatProblem(problem)}`);
  return undefined;
}
