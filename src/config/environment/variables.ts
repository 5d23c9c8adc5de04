/** Environment variables by name, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The variable for `--config`. It names the file and is not a setting. */
export const FILE_VARIABLE = 'FANFARE_CONFIG';

/** The launcher says with it how it was called. It is not a setting. */
export const COMMAND_VARIABLE = 'FANFARE_COMMAND';
