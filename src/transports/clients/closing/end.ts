import { errorMessage } from '../../../channels/wire.ts';
import { ClientConnection } from '../connection.ts';
import { type ConnectionProblem, closeCodes } from './close-codes.ts';

/** What can be ended: a connection, or the socket of one that was refused. */
export interface Endable {
  send(frame: string): unknown;
  close(code: number, reason: string): void;
}

/** The codes of connections whose users are gone: terminated, not authorised, or of a disabled app. */
const GONE_CODES: readonly number[] = [closeCodes.terminated.code, closeCodes['app-disabled'].code];

/** Closes a connection with the code and the text of a problem. */
export function endWith(
  connection: Endable,
  problem: ConnectionProblem,
  message: string = closeCodes[problem].message,
): void {
  const { code } = closeCodes[problem];
  if (connection instanceof ClientConnection) {
    recordEnd(connection, problem, message);
    if (GONE_CODES.includes(code)) connection.endForGood();
  }
  // The .NET client reads the event, other clients the close code; pusher-js handles both.
  if (code >= 4000) connection.send(errorMessage(code, message));
  connection.close(code, message);
}

/** Shows the end of a connection in the live streams of the app. */
function recordEnd(connection: ClientConnection, problem: ConnectionProblem, reason: string): void {
  const { app, socketId, user, isOpen } = connection;
  if (app.tap === undefined || !isOpen) return;
  const { code, advice } = closeCodes[problem];
  const kind = problem === 'terminated' ? 'terminated' : 'error';
  app.tap.record({ kind, socket: socketId, user: user?.id, code, reason, advice });
}
