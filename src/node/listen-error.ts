import { errorCode } from '../runtime/error-code.ts';
import { urlHost } from '../runtime/listen-host.ts';
import { StartFailed } from './start-failed.ts';

interface ListenPlace {
  readonly host: string;
  readonly port: number;
  /** The names of the settings, if they are not `host` and `port`. */
  readonly names?: string;
}

const FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use by another program',
  EACCES: 'is not allowed: ports below 1024 need special rights',
  EADDRNOTAVAIL: 'is not an address of this machine',
};

/** Explains why a listener could not be opened, in one line that names the setting. */
export function listenError(
  error: unknown,
  setting: string,
  { host, port, names }: ListenPlace,
): StartFailed {
  const code = errorCode(error);
  const where = `${urlHost(host)}:${port} (${names ?? `${setting}.host, ${setting}.port`})`;
  const unknown = `cannot be opened: ${error instanceof Error ? error.message : error}`;
  const why = `${where} ${FAULTS[String(code)] ?? unknown}`;
  return new StartFailed({ exitCode: 1, message: why }, { cause: error });
}
