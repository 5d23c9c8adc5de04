import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { errorCode } from '../../runtime/error-code.ts';
import { type EnvironmentVariables, FILE_VARIABLE } from '../environment/variables.ts';
import { chosenByOthers, type FileProblem, fileUser } from './chosen-by-others.ts';
import { readConfigFile } from './read-file.ts';

/** The places of a configuration. */
export interface ConfigPlaces {
  /** The file given with `--config`. */
  readonly file?: string | undefined;
  /** The working directory: the base of relative paths, and the place of a file with a default name. */
  readonly directory: string;
  readonly environment: EnvironmentVariables;
  /** Where the configuration of the whole machine is. The default is `/etc/fanfare`. */
  readonly systemDirectory?: string;
}

const defaultNames = ['fanfare.json', 'fanfare.yaml', 'fanfare.yml', 'fanfare.toml'];

/** Where packages put the configuration, so that commands find the store of the server in any directory. */
const SYSTEM_DIRECTORY = '/etc/fanfare';

/** The content of the file, unchecked; of none, an empty one. `source` is the file, if there is one. */
export interface ReadContent {
  readonly source: string | undefined;
  readonly value: unknown;
  /** Whether the file sets nothing. */
  readonly isEmpty: boolean;
}

/** What was found, or why it cannot be read. */
type FoundContent =
  | ReadContent
  | { readonly source: string | undefined; readonly problem: FileProblem };

/** Reads the file that is asked for, or else the one with a default name, if nobody else may have chosen that. */
export function readFoundFile(places: ConfigPlaces): FoundContent {
  const { directory, environment } = places;
  const asked = places.file ?? (environment[FILE_VARIABLE] || undefined);
  const found = asked === undefined ? findOwnFile(places) : { file: asked };
  if ('problem' in found) return { source: undefined, problem: found.problem };
  const { file: source } = found;
  if (source === undefined) return { source, value: {}, isEmpty: true };
  const file = readConfigFile(resolve(directory, source));
  return file.ok
    ? { source, value: file.value, isEmpty: file.isEmpty }
    : { source, problem: { path: source, message: file.message } };
}

type FoundFile = { readonly file: string | undefined } | { readonly problem: FileProblem };

function findOwnFile(places: ConfigPlaces): FoundFile {
  const { directory, environment, systemDirectory = SYSTEM_DIRECTORY } = places;
  const found = findFile([directory, systemDirectory]);
  if ('problem' in found || found.file === undefined) return found;
  const problem = chosenByOthers(found.file, fileUser(environment));
  return problem === undefined ? found : { problem };
}

/** Finds a file with a default name in the first directory that has one. */
function findFile(directories: readonly string[]): FoundFile {
  for (const directory of directories) {
    const kinds = defaultNames.map((name) => ({ name, kind: kindOf(join(directory, name)) }));
    if (kinds.some(({ kind }) => kind === 'hidden')) {
      // Going on without it would find another store, and say that it has no apps.
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
