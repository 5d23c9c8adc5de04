import { relay } from './client-event.ts';
import type { Hub } from './hub.ts';
import type { MaybePromise } from './maybe-promise.ts';
import { reportProblem } from './problems/report-problem.ts';
import type { Session } from './subscribing/session.ts';
import { subscribe, unsubscribe } from './subscribing/subscribe.ts';
import { signIn } from './users/sign-in.ts';
import { type ClientMessage, PONG } from './wire.ts';

/**
 * Answers one message of a client. Rejects or throws if an engine fails. The caller must then close the connection,
 * which undoes what the message had done.
 */
export function answer(hub: Hub, session: Session, message: ClientMessage): MaybePromise<void> {
  switch (message.type) {
    case 'subscribe':
      return subscribe(hub, session, message);
    case 'unsubscribe':
      return unsubscribe(hub, session, message.channel);
    case 'signin':
      return signIn(hub, session, message);
    case 'client-event':
      return relay(hub, session, message);
    case 'ping':
      session.peer.send(PONG);
      return;
    case 'pong':
      // The transport has already noted that the client is alive.
      hub.asked.pongEvent(session);
      return;
    case 'away':
      hub.asked.setAway(session, message.isAway);
      return;
    case 'unsupported':
      return reportProblem(hub, session, {
        problem: 'unsupported-event',
        message: `Unsupported event received on socket: ${message.event}`,
      });
    case 'malformed':
      return reportProblem(hub, session, { problem: 'malformed-message', message: message.why });
    default:
      return message satisfies never;
  }
}
