import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { crossCheck } from './cross-checks.ts';
import { applyEnvironment, type Environment, FILE_VARIABLE, variablePath } from './environment.ts';
import { onePerPath, type Problem, problemsOf, wording } from './problems.ts';
import { readConfigFile } from './read-file.ts';
import { type Config, configSchema } from './schema.ts';

/** Where a configuration may come from. */
export interface ConfigPlaces {
  /** The file that was asked for, as given with `--config`. */
  readonly file?: string | undefined;
  /** The working directory: relative paths begin here, and a file of the usual name is looked for. */
  readonly directory: string;
  readonly environment: Environment;
}

/** A checked configuration, or everything that is wrong with it. `source` is the file, if there is one. */
export type LoadedConfig =
  | { readonly ok: true; readonly config: Config; readonly source: string | undefined }
  | {
      readonly ok: false;
      readonly source: string | undefined;
      readonly problems: readonly Problem[];
    };

const usualNames = ['fanfare.json', 'fanfare.yaml', 'fanfare.yml', 'fanfare.toml'];

/**
 * Reads the configuration: the file, what the environment overrides, and defaults for the rest.
 * Never throws, whatever the file holds: an answer that is not ok names every problem there is.
 */
export function loadConfig(places: ConfigPlaces): LoadedConfig {
  const asked = places.file ?? (places.environment[FILE_VARIABLE] || undefined);
  const usual = usualNames.filter((name) => existsSync(join(places.directory, name)));
  if (asked === undefined && usual.length > 1) {
    const message = `holds ${usual.join(' and ')}; keep one, or choose one with --config`;
    return unread(undefined, { path: places.directory, message }, places.environment);
  }

  const source = asked ?? (usual[0] === undefined ? undefined : join(places.directory, usual[0]));
  if (source === undefined) return check({}, undefined, places.environment);

  const file = readConfigFile(resolve(places.directory, source));
  return file.ok
    ? check(file.value, source, places.environment)
    : unread(source, { path: source, message: file.message }, places.environment);
}

/** Answers with why there is no file to check, and with what is wrong in the environment alone. */
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
  const found = [
    ...(parsed.success ? [] : problemsOf(configSchema, parsed.error)),
    ...crossCheck(overrides.value),
  ].map((problem) => placed(problem, source, overrides.variables));

  const problems = onePerPath([...overrides.problems, ...found]);
  return parsed.success && problems.length === 0
    ? { ok: true, config: parsed.data, source }
    : { ok: false, source, problems };
}

/** Says where the person who must mend it finds it: in a variable, in the file, or in a setting. */
function placed(
  problem: Problem,
  source: string | undefined,
  variables: ReadonlyMap<string, string>,
): Problem {
  const variable = variables.get(problem.path);
  if (variable !== undefined) return { ...problem, path: variablePath(variable, problem.path) };
  return problem.path === '' && source !== undefined ? { ...problem, path: source } : problem;
}
