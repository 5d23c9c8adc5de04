import { ask } from './engine-failure.ts';
import type { ChannelEvent } from './event.ts';
import type { EventId } from './history/event-id.ts';
import type { Hub } from './hub.ts';
import { after, type MaybePromise, undoIfFailed } from './maybe-promise.ts';
import { eventMessage } from './wire.ts';

/**
 * Sends an event to all subscribers of its channel, and stores it for a cache channel. With an engine in memory this
 * is done synchronously. Returns the id of the event if the channel keeps a history.
 */
export function publish(
  hub: Pick<Hub, 'authority' | 'meter' | 'ruleEvents'>,
  { app, channel, name, data, except, key, idempotencyKey, ask: question, sentTo }: ChannelEvent,
): MaybePromise<EventId | undefined> {
  hub.meter.count('eventsPublished');
  const publication = {
    app,
    channel: channel.text,
    makeFrame: (id?: EventId) => eventMessage(name, channel.text, data, id),
    except,
    cause: 'backend',
    idempotencyKey,
    remember: channel.cached ? { name, data } : undefined,
    ask: question,
    sentTo,
    trace: app.tap?.record({ kind: 'api', channel: channel.text, event: name, data, except, key }),
  } as const;
  const send = () => ask('publish', () => hub.authority.publish(publication));
  // An event of a live publish already has its own notifications.
  const published =
    app.pushRules.length === 0 || question !== undefined
      ? send
      : () =>
          after(send(), (id) => {
            const event = { appId: app.id, channel: channel.text, name, data, idempotencyKey };
            hub.ruleEvents.note(app, event);
            return id;
          });
  if (publication.trace === undefined) return published();
  // Otherwise a live stream would show it as an event without receivers.
  return undoIfFailed(published, () =>
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
