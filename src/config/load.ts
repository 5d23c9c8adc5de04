import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { errorCode } from '../runtime/error-code.ts';
import { crossCheck } from './cross-checks.ts';
import {
  applyEnvironment,
  type Environment,
  FILE_VARIABLE,
  variablePath,
} from './environment/environment.ts';
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
  /** Where the configuration of the whole machine is. The default is `/etc/fanfare`. */
  readonly systemDirectory?: string;
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

/** Where packages put the configuration, so that commands find the store of the server in any directory. */
const SYSTEM_DIRECTORY = '/etc/fanfare';

/**
 * Reads the configuration from the file and the environment, with defaults for the rest.
 * Never throws: a result that is not ok lists every problem.
 */
export function loadConfig(places: ConfigPlaces): LoadedConfig {
  const { directory, environment, systemDirectory = SYSTEM_DIRECTORY } = places;
  const asked = places.file ?? (environment[FILE_VARIABLE] || undefined);
  const found = asked === undefined ? findFile([directory, systemDirectory]) : { file: asked };
  if ('problem' in found) return unread(undefined, found.problem, environment);
  const { file: source } = found;
  if (source === undefined) return check({}, undefined, environment);

  const file = readConfigFile(resolve(directory, source));
  return file.ok
    ? check(file.value, source, environment)
    : unread(source, { path: source, message: file.message }, environment);
}

type FoundFile = { readonly file: string | undefined } | { readonly problem: Problem };

/** Finds a file with a default name in the first directory that has one. */
function findFile(directories: readonly string[]): FoundFile {
  for (const directory of directories) {
    const kinds = defaultNames.map((name) => ({ name, kind: kindOf(join(directory, name)) }));
    if (kinds.some(({ kind }) => kind === 'hidden')) {
      // Without it, the server would open another store, and report that it has no apps.
      const message =
        'may not be read (permission denied); run this as the user of the server, or choose a configuration with --config';
      return { problem: { path: directory, message } };
    }
    const [first, ...others] = kinds.filter(({ kind }) => kind === 'there');
    if (first === undefined) continue;
    if (others.length === 0) return { file: join(directory, first.name) };
    const names = [first, ...others].map(({ name }) => name).join(' and ');
    const message = `holds ${names}; keep one, or choose one with --config`;
    return { problem: { path: directory, message } };
  }
  return { file: undefined };
}

function kindOf(path: string): 'there' | 'absent' | 'hidden' {
  try {
    statSync(path);
    return 'there';
  } catch (error) {
    return errorCode(error) === 'EACCES' ? 'hidden' : 'absent';
  }
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

/** Replaces the path of a problem by the variable or file that must be corrected. */
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
