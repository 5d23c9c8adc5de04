import { relay } from './client-event.ts';
import type { Hub } from './hub.ts';
import { after, type MaybePromise } from './maybe-promise.ts';
import { reportProblem } from './problems/report-problem.ts';
import type { Session } from './subscribing/session.ts';
import { admitWaiting, subscribe, unsubscribe } from './subscribing/subscribe.ts';
import { signIn } from './users/sign-in.ts';
import { type ClientMessage, PONG } from './wire.ts';

/**
 * Answers one message of a client. Rejects or throws if an engine fails. The caller must then close the connection,
 * which undoes what the message had done.
 */
export function answer(hub: Hub, session: Session, message: ClientMessage): MaybePromise<void> {
  switch (message.type) {
    case 'subscribe': {
      const subscribed = subscribe(hub, session, message);
      return hasGrants(session) ? afterSubscription(hub, session, subscribed) : subscribed;
    }
    case 'unsubscribe':
      return unsubscribe(hub, session, message.channel);
    case 'signin': {
      const signedIn = signIn(hub, session, message);
      return hasGrants(session) ? afterSignIn(hub, session, signedIn) : signedIn;
    }
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

/** Apps without grants pay for this field test only. */
function hasGrants({ app }: Session): boolean {
  return app.grants !== undefined;
}

/** Tries what has waited for the sign-in: after it, or refuses it if the sign-in was refused. */
function afterSignIn(hub: Hub, session: Session, signedIn: MaybePromise<void>): MaybePromise<void> {
  return after(signedIn, () => admitWaiting(hub, session));
}

/** A token that was presented for a channel may have signed the connection in. */
function afterSubscription(
  hub: Hub,
  session: Session,
  subscribed: MaybePromise<void>,
): MaybePromise<void> {
  return after(subscribed, () =>
    session.user === undefined ? undefined : admitWaiting(hub, session),
  );
}
