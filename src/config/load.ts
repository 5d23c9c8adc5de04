import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { crossCheck } from './cross-checks.ts';
import { applyEnvironment, type Environment, FILE_VARIABLE, variablePath } from './environment.ts';
import { onePerPath, type Problem, problemsOf, wording } from './problems.ts';
import { readConfigFile } from './read-file.ts';
import { type Config, configSchema } from './schema.ts';

/** The places of a configuration. */
export interface ConfigPlaces {
  /** The file given with `--config`. */
  readonly file?: string | undefined;
  /** The working directory: the base of relative paths, and the place of a file with a default name. */
  readonly directory: string;
  readonly environment: Environment;
}

/** A checked configuration, or all of its problems. `source` is the file, if there is one. */
export type LoadedConfig =
  | { readonly ok: true; readonly config: Config; readonly source: string | undefined }
  | {
      readonly ok: false;
      readonly source: string | undefined;
      readonly problems: readonly Problem[];
    };

const defaultNames = ['fanfare.json', 'fanfare.yaml', 'fanfare.yml', 'fanfare.toml'];

/**
 * Reads the configuration from the file and the environment, with defaults for the rest.
 * Never throws: a result that is not ok lists every problem.
 */
export function loadConfig(places: ConfigPlaces): LoadedConfig {
  const asked = places.file ?? (places.environment[FILE_VARIABLE] || undefined);
  const found = defaultNames.filter((name) => existsSync(join(places.directory, name)));
  if (asked === undefined && found.length > 1) {
    const message = `holds ${found.join(' and ')}; keep one, or choose one with --config`;
    return unread(undefined, { path: places.directory, message }, places.environment);
  }

  const source = asked ?? (found[0] === undefined ? undefined : join(places.directory, found[0]));
  if (source === undefined) return check({}, undefined, places.environment);

  const file = readConfigFile(resolve(places.directory, source));
  return file.ok
    ? check(file.value, source, places.environment)
    : unread(source, { path: source, message: file.message }, places.environment);
}

/** Reports why the file cannot be read, together with problems of the environment. */
function unread(
  source: string | undefined,
  problem: Problem,
  environment: Environment,
): LoadedConfig {
  const { problems } = applyEnvironment(configSchema, {}, environment);
  return { ok: false, source, problems: [problem, ...problems] };
}

/** Checks the content of a file together with the environment. */
function check(
  content: unknown,
  source: string | undefined,
  environment: Environment,
): LoadedConfig {
  const overrides = applyEnvironment(configSchema, content, environment);
  const parsed = configSchema.safeParse(overrides.value, { error: wording });
  const all = [
    ...(parsed.success ? [] : problemsOf(configSchema, parsed.error)),
    ...crossCheck(overrides.value),
  ].map((problem) => placed(problem, source, overrides.variables));

  const problems = onePerPath([...overrides.problems, ...all]);
  return parsed.success && problems.length === 0
    ? { ok: true, config: parsed.data, source }
    : { ok: false, source, problems };
}

/** Replaces the path of a problem by the variable or file in which to mend it. */
function placed(
  problem: Problem,
  source: string | undefined,
  variables: ReadonlyMap<string, string>,
): Problem {
  // A variable sets the whole list.
  const variable = variables.get(problem.path.replace(/\[\d+\]$/, ''));
  if (variable !== undefined) return { ...problem, path: variablePath(variable, problem.path) };
  return problem.path === '' && source !== undefined ? { ...problem, path: source } : problem;
}
