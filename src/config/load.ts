import { applyEnvironment, variablePath } from './environment/environment.ts';
import type { EnvironmentVariables } from './environment/variables.ts';
import { type ConfigPlaces, type ReadContent, readFoundFile } from './file/find-file.ts';
import { type ConfigProblem, onePerPath, problemsOf, wording } from './file/problems.ts';
import { type Config, configSchema } from './schema.ts';
import { quotedCredentials } from './settings/credentials.ts';
import { crossCheck } from './settings/cross-checks.ts';
import { type TenantPlaces, tenantPlaces } from './tenant-places.ts';

/** A checked configuration, or all of its problems. `source` is the file, if there is one. */
export type LoadedConfig =
  | {
      readonly ok: true;
      readonly config: Config;
      readonly source: string | undefined;
      /** There is no file, or it sets nothing. */
      readonly isFileEmpty: boolean;
      readonly tenants: TenantPlaces;
      /** What is probably a mistake. */
      readonly warnings: readonly ConfigProblem[];
    }
  | {
      readonly ok: false;
      readonly source: string | undefined;
      readonly problems: readonly ConfigProblem[];
    };

/** A configuration that can be used. */
export type UsableConfig = Extract<LoadedConfig, { ok: true }>;

/**
 * Reads the configuration from the file and the environment, with defaults for the rest.
 * Never throws: a result that is not ok lists every problem.
 */
export function loadConfig(places: ConfigPlaces): LoadedConfig {
  const { environment } = places;
  const found = readFoundFile(places);
  return 'problem' in found
    ? unread(found.source, found.problem, environment)
    : check(found, environment);
}

/** Reports why the file cannot be read, together with problems of the environment. */
function unread(
  source: string | undefined,
  problem: ConfigProblem,
  environment: EnvironmentVariables,
): LoadedConfig {
  const { problems } = applyEnvironment(configSchema, {}, environment);
  return { ok: false, source, problems: [problem, ...problems] };
}

/** Checks the content of a file together with the environment. */
function check(
  { value, source, isEmpty }: ReadContent,
  environment: EnvironmentVariables,
): LoadedConfig {
  const overrides = applyEnvironment(configSchema, value, environment);
  const parsed = configSchema.safeParse(overrides.value, { error: wording });
  const all = [
    ...(parsed.success ? [] : problemsOf(configSchema, parsed.error)),
    ...crossCheck(overrides.value),
  ].map((problem) => placed(problem, source, overrides.variables));

  const problems = onePerPath([...overrides.problems, ...all]);
  if (!parsed.success || problems.length > 0) return { ok: false, source, problems };
  const tenants = tenantPlaces(parsed.data, { source, variables: overrides.variables });
  const warnings = quotedCredentials(overrides.value).map((warning) =>
    placed(warning, source, overrides.variables),
  );
  return { ok: true, config: parsed.data, source, isFileEmpty: isEmpty, tenants, warnings };
}

/** Replaces the path of a problem by the variable or file that must be corrected. */
function placed(
  problem: ConfigProblem,
  source: string | undefined,
  variables: ReadonlyMap<string, string>,
): ConfigProblem {
  // A variable sets the whole list.
  const variable = variables.get(problem.path.replace(/\[\d+\]$/, ''));
  if (variable !== undefined) return { ...problem, path: variablePath(variable, problem.path) };
  return problem.path === '' && source !== undefined ? { ...problem, path: source } : problem;
}
