import { errorCode, messageOf } from '../runtime/error-code.ts';
import { listenPlace, socketPath } from '../runtime/listen-host.ts';
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

const SOCKET_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use by another program',
  EACCES: 'is not allowed: the user of this server needs write permission for its directory',
  ENOENT: 'cannot be made: its directory does not exist',
  ENOTDIR: 'cannot be made: its directory does not exist',
};

/** Explains why a listener could not be opened, in one line that names the setting. */
export function listenError(error: unknown, setting: string, place: ListenPlace): StartFailed {
  const faults = socketPath(place.host) === undefined ? FAULTS : SOCKET_FAULTS;
  const unknown = `cannot be opened: ${messageOf(error)}`;
  const why = `${listenPlace(setting, place)} ${faults[String(errorCode(error))] ?? unknown}`;
  return new StartFailed({ exitCode: 1, message: why }, { cause: error });
}
