import { ask } from './engine-failure.ts';
import type { ChannelEvent } from './event.ts';
import type { EventId } from './history/event-id.ts';
import type { Hub } from './hub.ts';
import { after, type MaybePromise, undoIfFailed } from './maybe-promise.ts';
import type { Publication } from './ports.ts';
import { eventMessage } from './wire.ts';

type PublishingHub = Pick<Hub, 'authority' | 'meter' | 'ruleEvents' | 'turns'>;

/**
 * Sends an event to all subscribers of its channel, and stores it for a cache channel. With an engine in memory this
 * is done synchronously. Returns the id of the event if the channel keeps a history.
 */
export function publish(
  hub: PublishingHub,
  event: ChannelEvent,
): MaybePromise<EventId | undefined> {
  const {
    app,
    channel,
    name,
    data,
    except,
    key,
    idempotencyKey,
    isFollowed,
    ask: question,
    sentTo,
  } = event;
  hub.meter.count('eventsPublished');
  const publication: Publication = {
    app,
    channel: channel.text,
    makeFrame: (id?: EventId) => eventMessage(name, channel.text, data, id),
    except,
    cause: 'backend',
    idempotencyKey,
    isFollowed,
    remember: channel.cached ? { name, data } : undefined,
    ask: question,
    sentTo,
    trace: app.tap?.record({ kind: 'api', channel: channel.text, event: name, data, except, key }),
  };
  if (publication.trace === undefined) return send(hub, event, publication);
  // Otherwise a live stream would show it as an event without receivers.
  return undoIfFailed(
    () => send(hub, event, publication),
    () =>
      app.tap?.record({
        kind: 'error',
        channel: channel.text,
        event: name,
        key,
        reason: 'The event was not sent: the server cannot reach what servers share',
        advice: 'Look at `/readyz` of the server, and send the event again.',
      }),
  );
}

/** Passes an event to the authority, and then to the push rules of its app. */
function send(
  hub: PublishingHub,
  { app, channel, name, data, idempotencyKey, ask: question }: ChannelEvent,
  publication: Publication,
): MaybePromise<EventId | undefined> {
  const publishNow = () => ask('publish', () => hub.authority.publish(publication));
  const sent = hub.turns === undefined ? publishNow() : hub.turns.continue(publishNow);
  // An event of a live publish already has its own notifications.
  if (app.pushRules.length === 0 || question !== undefined) return sent;
  return after(sent, (id) => {
    hub.ruleEvents.note(app, { appId: app.id, channel: channel.text, name, data, idempotencyKey });
    return id;
  });
}
