import { errorCode } from '../runtime/error-code.ts';
import { StartFailed } from './start-failed.ts';

interface ListenPlace {
  readonly host: string;
  readonly port: number;
  /** The names of the settings, if they are not `host` and `port`. */
  readonly names?: string;
}

/** Explains why a listener could not be opened, in one line that names the setting. */
export function listenError(
  error: unknown,
  setting: string,
  { host, port, names }: ListenPlace,
): StartFailed {
  const code = errorCode(error);
  const where = `${host}:${port} (${names ?? `${setting}.host, ${setting}.port`})`;
  const why =
    code === 'EADDRINUSE'
      ? `${where} is in use by another program`
      : code === 'EACCES'
        ? `${where} is not allowed: ports below 1024 need special rights`
        : code === 'EADDRNOTAVAIL'
          ? `${where} is not an address of this machine`
          : `${where} cannot be opened: ${error instanceof Error ? error.message : error}`;
  return new StartFailed({ exitCode: 1, message: why }, { cause: error });
}
