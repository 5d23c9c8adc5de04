import { hasMoreCharacters } from '../runtime/characters.ts';
import { parseJsonObject } from '../runtime/json-object.ts';
import { perSecond, TokenBucket } from '../runtime/rates/token-bucket.ts';
import type { App } from './app.ts';
import { isValueId } from './appending/append.ts';
import { type ChannelName, needsAuthorisation } from './channel-name.ts';
import { ask, EngineFailure, logFailure } from './engine-failure.ts';
import { EVENT_NAME_LENGTH_MAX } from './event.ts';
import { askedOf } from './grants/asked.ts';
import type { Hub } from './hub.ts';
import { after, type MaybePromise, recover } from './maybe-promise.ts';
import { type Reported, reportProblem } from './problems/report-problem.ts';
import type { Session } from './subscribing/session.ts';
import { type ClientMessage, clientEventMessage } from './wire.ts';

/** The name of the client event that asks the producer of a value to stop. */
const STOP_EVENT = 'client-stop';

type ClientEvent = Extract<ClientMessage, { type: 'client-event' }>;

/** Sends a client's event to the other members of its channel, or reports to the client why not. Source: §7. */
export function relay(hub: Hub, session: Session, message: ClientEvent): MaybePromise<void> {
  const refused = refusalOf(hub, session, message);
  if (refused !== undefined) return reportProblem(hub, session, refused);
  const subscription = session.subscription(message.channel);
  if (subscription === undefined) return;
  const { channel, member } = subscription;
  const { app, socketId } = session;
  const publication = {
    app,
    channel: channel.text,
    makeFrame: () =>
      clientEventMessage(message.event, channel.text, message.dataLiteral, member?.userId),
    except: socketId,
    cause: 'clients',
    remember: undefined,
    stops: stoppedBy(message, subscription.channel, app),
    trace: app.tap?.record({
      kind: 'client',
      socket: socketId,
      user: member?.userId ?? session.user?.id,
      channel: channel.text,
      event: message.event,
      data: textOf(message.dataLiteral),
    }),
  } as const;
  const published = recover(
    () =>
      after(
        ask('publish', () => hub.authority.publish(publication)),
        () => true,
      ),
    (error) => notSent(hub, session, error),
  );
  const isWanted = hub.webhooks.wants(app, 'client_event');
  if (!isWanted && app.pushRules.length === 0) return after(published, () => undefined);
  return after(published, (isSent) => {
    if (!isSent) return;
    const data = textOf(message.dataLiteral);
    const { event: name } = message;
    const event = { appId: app.id, channel: channel.text, name, data, idempotencyKey: undefined };
    if (app.pushRules.length > 0) hub.ruleEvents.note(app, event);
    if (!isWanted) return;
    hub.webhooks.emit(app, {
      name: 'client_event',
      channel: channel.text,
      event: message.event,
      data,
      socket_id: socketId,
      ...(member === undefined ? {} : { user_id: member.userId }),
    });
  });
}

/**
 * Reports to a client that its event was not sent because the engine failed. The connection stays open, as there is
 * nothing to undo.
 */
function notSent(hub: Hub, session: Session, error: unknown): boolean {
  if (!(error instanceof EngineFailure)) throw error;
  logFailure(hub.rateLimitedLog, error, {
    message: 'Client event not sent: the engine cannot answer',
    whose: { app: session.app.id },
    fields: { connection: session.socketId },
  });
  const message = 'Client event rejected: the server cannot send it now, try again later';
  reportProblem(hub, session, { problem: 'client-event-unavailable', message });
  return false;
}

function refusalOf(hub: Hub, session: Session, message: ClientEvent): Reported | undefined {
  const { app } = session;
  if (!app.clientEvents) {
    return {
      problem: 'client-events-off',
      message:
        'To send client events, you must enable this feature in the Settings page of your dashboard.',
    };
  }
  const subscription = session.subscription(message.channel);
  if (subscription?.state !== 'joined') {
    return {
      problem: 'client-event-not-subscribed',
      message: `Cannot broadcast client event (connection not subscribed to channel ${message.channel})`,
    };
  }
  if (!needsAuthorisation(subscription.channel)) {
    return {
      problem: 'client-event-wrong-channel',
      message: 'Client event rejected - only supported on private and presence channels',
    };
  }
  if (!mayByGrant(hub, session, subscription.channel)) {
    return {
      problem: 'client-event-not-granted',
      message: `Client event rejected: no grant of this connection allows client events in ${message.channel}`,
    };
  }
  if (hasMoreCharacters(message.event, EVENT_NAME_LENGTH_MAX)) {
    return {
      problem: 'client-event-invalid',
      message: `Invalid client event: event may have at most ${EVENT_NAME_LENGTH_MAX} characters`,
    };
  }
  if (message.dataBytes > app.limits.eventDataBytes) {
    return {
      problem: 'client-event-invalid',
      message: `Invalid client event: data may have at most ${app.limits.eventDataBytes} bytes`,
    };
  }
  const { clientEventsPerSecond } = app.limits;
  if (clientEventsPerSecond === 0) return undefined;
  const rate = perSecond(clientEventsPerSecond);
  const nowMs = hub.clock.now();
  session.clientEvents ??= new TokenBucket(rate, nowMs);
  return session.clientEvents.take(rate, nowMs)
    ? undefined
    : {
        problem: 'client-event-rate',
        message: 'Client event rejected due to rate limit',
      };
}

/** Whether a live grant allows client events, if the channel was entered by a grant. Source: identity, §3.3. */
function mayByGrant(hub: Hub, session: Session, channel: ChannelName): boolean {
  const { grants } = session;
  if (grants?.enteredBy(channel.text) === undefined) return true;
  return grants.covering(channel, 'client-events', askedOf(hub, session)) !== undefined;
}

/** The value whose producer a client event asks to stop. It is an ordinary client event as well. */
function stoppedBy(message: ClientEvent, { cached }: ChannelName, app: App): string | undefined {
  if (message.event !== STOP_EVENT || !cached || app.limits.appendBytes === 0) return undefined;
  const id = parseJsonObject(textOf(message.dataLiteral))?.['id'];
  return isValueId(id) ? id : undefined;
}

/** The data of a client event as text. */
function textOf(dataLiteral: string): string {
  return String(JSON.parse(dataLiteral));
}
