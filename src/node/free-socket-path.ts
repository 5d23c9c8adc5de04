import { lstatSync, rmSync, type Stats } from 'node:fs';
import { connect } from 'node:net';
import { errorCode } from '../runtime/error-code.ts';
import { listenPlace, socketPath } from '../runtime/listen-host.ts';
import { listenError } from './listen-error.ts';
import { StartFailed } from './start-failed.ts';

interface Place {
  readonly host: string;
  readonly port: number;
}

/**
 * Deletes the file of a Unix socket that a server has left which was killed. The kernel refuses to listen there as if
 * somebody still did, so this connects first. Throws `StartFailed` if the path belongs to somebody else. Does nothing
 * for the address of a port.
 */
export async function freeSocketPath(setting: string, place: Place): Promise<void> {
  const path = socketPath(place.host);
  if (path === undefined) return;
  let found: Stats | undefined;
  try {
    found = lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw listenError(error, setting, place);
  }
  if (found === undefined) return;
  const refuse = (why: string) =>
    new StartFailed({ exitCode: 1, message: `${listenPlace(setting, place)} ${why}` });
  if (!found.isSocket()) throw refuse('exists and is no socket: it is not replaced');
  switch (await answerAt(path)) {
    case 'answers':
      throw refuse('is in use by another program');
    case 'ENOENT':
      return;
    case 'ECONNREFUSED':
      break;
    default:
      throw refuse('exists, and this user may not find out whether a program still listens there');
  }
  try {
    rmSync(path, { force: true });
  } catch (error) {
    throw listenError(error, setting, place);
  }
}

/** Connects to a Unix socket. Returns the code of the error if nobody accepts. */
async function answerAt(path: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect({ path }, () => resolve('answers'));
  socket.on('error', (error) => resolve(String(errorCode(error))));
  const answer = await promise;
  socket.destroy();
  return answer;
}
