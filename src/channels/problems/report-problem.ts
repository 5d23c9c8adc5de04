import type { Hub } from '../hub.ts';
import type { Session } from '../subscribing/session.ts';
import { errorMessage } from '../wire.ts';
import { type InBandProblem, inBandProblems } from './problems.ts';

/** Why a client gets an error that leaves its connection open. */
export interface Reported {
  readonly problem: InBandProblem;
  readonly message: string;
}

/** Sends a client an error that leaves its connection open, and shows it in the app's live streams. */
export function reportProblem(hub: Hub, session: Session, reported: Reported): void {
  sendProblem(hub, session, reported);
  const { problem, message } = reported;
  const { code, advice } = inBandProblems[problem];
  session.app.tap?.record({
    kind: 'error',
    socket: session.socketId,
    user: session.user?.id,
    code: code ?? undefined,
    reason: message,
    advice,
  });
}

/** Sends a client an error that leaves its connection open. */
export function sendProblem(hub: Hub, session: Session, { problem, message }: Reported): void {
  hub.meter.count('clientProblems', 1, problem);
  const { app, socketId: socket, user } = session;
  const { advice } = inBandProblems[problem];
  hub.problems.note(app, {
    source: 'client',
    kind: problem,
    text: message,
    advice,
    socket,
    user: user?.id,
  });
  session.peer.send(errorMessage(inBandProblems[problem].code, message));
}
