import type { ConfigProblem } from '../file/problems.ts';

/** Environment variables by name, as `process.env` has them. */
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** The content of a file with the settings of the environment. */
export interface Overrides {
  readonly value: unknown;
  /** The name of the variable that set a setting, by the path of the setting. */
  readonly variables: ReadonlyMap<string, string>;
  readonly problems: readonly ConfigProblem[];
}

/** The variable for `--config`. It names the file and is not a setting. */
export const FILE_VARIABLE = 'FANFARE_CONFIG';

/** The launcher says with it how it was called. It is not a setting. */
export const COMMAND_VARIABLE = 'FANFARE_COMMAND';
