import type { ChannelName } from '../../../channels/channel-name.ts';
import { ask } from '../../../channels/engine-failure.ts';
import type { ChannelEvent } from '../../../channels/event.ts';
import type { EventId } from '../../../channels/history/event-id.ts';
import type { Hub } from '../../../channels/hub.ts';
import { after, type MaybePromise, mapAll } from '../../../channels/maybe-promise.ts';
import { publish } from '../../../channels/publish.ts';
import { type Answer, type Call, EMPTY } from '../call.ts';
import { ApiRefusal } from '../problems.ts';
import { applicableCounts } from '../queries/attributes.ts';
import { overQuota } from '../refuse-usage.ts';
import { append } from './append.ts';
import { readBatch, readRawEvent, readTrigger, type Trigger } from './read-event.ts';
import {
  chargeRefused,
  type EventTexts,
  refuseEvents,
  refuseWeight,
  textOfOne,
  textsOfBatch,
} from './trigger-rate.ts';

/** What an event is read from, and who sends it. */
export type TriggerCall = Pick<Call, 'hub' | 'app' | 'body' | 'parameters'>;

/** `POST /events`: one event to one or more channels. */
export function triggerEvent(call: Call): MaybePromise<Answer> {
  const trigger = takeTrigger(call);
  if (trigger instanceof ApiRefusal) return trigger;
  const { name, channels, append: piece } = trigger;
  if (piece !== undefined && channels[0] !== undefined) {
    return append(call, { name, channel: channels[0], append: piece });
  }
  return after(publishAll(call, [trigger]), (ids) => {
    const hasIds = ids.some((id) => id !== undefined);
    if (!trigger.asked) return hasIds ? { json: eventIdsJson(trigger, ids) } : EMPTY;
    const counted = mapAll(trigger.channels, (channel) => countsOf(call, channel, trigger));
    return after(counted, (counts) => {
      const channels = byChannel(trigger, counts);
      const answer = hasIds ? { channels, event_ids: byChannel(trigger, ids) } : { channels };
      return { json: JSON.stringify(answer) };
    });
  });
}

/** `POST /batch_events`: several events, each to one channel. All are checked before the first is sent. */
export function triggerBatch(call: Call): MaybePromise<Answer> {
  const tooMuch = refuseWeight(call);
  if (tooMuch !== undefined) return tooMuch;
  const batch = readBatch(call.app, call.body);
  if (batch instanceof ApiRefusal) return refuseRead(call, batch);
  const refused = refuseOverLimits(call, batch, textsOfBatch);
  if (refused !== undefined) return refused;
  return after(publishAll(call, batch), (ids) => {
    const hasIds = ids.some((id) => id !== undefined);
    if (!hasIds && !batch.some(({ asked }) => asked)) return EMPTY;
    const counted = mapAll(batch, (trigger) =>
      // An event of a batch has one channel.
      trigger.channels[0] === undefined ? {} : countsOf(call, trigger.channels[0], trigger),
    );
    return after(counted, (counts) => {
      const items = counts.map((one, index) => ({ ...one, event_id: ids[index] }));
      return { json: JSON.stringify({ batch: hasIds ? items : counts }) };
    });
  });
}

/** `POST /channels/NAME/events`, deprecated: name in the query, data in the body. */
export function triggerRawEvent(call: Call): MaybePromise<Answer> {
  const trigger = readRawEvent(call.app, call.channelText, call.body, call.parameters);
  if (trigger instanceof ApiRefusal) return refuseRead(call, trigger);
  // All of its body is data.
  const refused = refuseQuota(call, [trigger]);
  if (refused !== undefined) return refused;
  return after(publishAll(call, [trigger]), () => ({ status: 202 as const }));
}

/** Reads the event in a body and counts it. Refuses it if it breaks a rule or the app is over a limit. */
export function takeTrigger(call: TriggerCall): Trigger | ApiRefusal {
  const tooMuch = refuseWeight(call);
  if (tooMuch !== undefined) return tooMuch;
  const trigger = readTrigger(call.app, call.body, call.parameters);
  if (trigger instanceof ApiRefusal) return refuseRead(call, trigger);
  return refuseOverLimits(call, [trigger], textOfOne) ?? trigger;
}

/** Counts an event that was read from a body, or refuses it if the app is over a limit. */
export function countTrigger(call: TriggerCall, trigger: Trigger): ApiRefusal | undefined {
  return refuseWeight(call) ?? refuseOverLimits(call, [trigger], textOfOne);
}

/** Charges for and refuses a body that had to be parsed to find its fault. */
function refuseRead(call: TriggerCall, refusal: ApiRefusal): ApiRefusal {
  chargeRefused(call);
  return refusal;
}

/** Counts the events, or refuses them if the app is over a limit. Source: §14.4. */
function refuseOverLimits(
  call: TriggerCall,
  triggers: readonly Trigger[],
  eventTexts: EventTexts,
): ApiRefusal | undefined {
  return refuseEvents(call, triggers, eventTexts) ?? refuseQuota(call, triggers);
}

function refuseQuota(
  { hub, app }: TriggerCall,
  triggers: readonly Trigger[],
): ApiRefusal | undefined {
  let messages = 0;
  for (const { asked } of triggers) messages += asked ? 2 : 1;
  return hub.usage.take(app, messages) ? undefined : overQuota(app);
}

/**
 * The events of one request are published one after the other up to this number, so that a client receives them in
 * the order of the request even if their channels have different homes. For more events that would take too long:
 * then only the order within each channel is kept.
 */
const IN_ORDER_MAX = 10;

/**
 * Sends events that are counted already. Without a key, an operator has sent them. Returns their ids, in order: `undefined` for
 * channels that keep no history.
 */
export function publishAll(
  { hub, app, key }: Pick<Call, 'hub' | 'app'> & Partial<Pick<Call, 'key'>>,
  triggers: readonly Trigger[],
): MaybePromise<readonly (EventId | undefined)[]> {
  const events: ChannelEvent[] = [];
  let left = triggers.reduce((sum, { channels }) => sum + channels.length, 0);
  const areInOrder = left <= IN_ORDER_MAX;
  for (const { name, data, except, idempotencyKey, channels } of triggers) {
    for (const channel of channels) {
      left--;
      const isFollowed = areInOrder && left > 0;
      events.push({ app, channel, name, data, except, key, idempotencyKey, isFollowed });
    }
  }
  return areInOrder ? publishInOrder(hub, events) : mapAll(events, (event) => publish(hub, event));
}

function publishInOrder(
  hub: Hub,
  events: readonly ChannelEvent[],
): MaybePromise<readonly (EventId | undefined)[]> {
  const ids: (EventId | undefined)[] = [];
  for (const event of events) {
    const id = publish(hub, event);
    if (id instanceof Promise) return publishLater(hub, events, [...ids, id]);
    ids.push(id);
  }
  return ids;
}

/** Publishes the events that have no id yet, each after the one before. */
async function publishLater(
  hub: Hub,
  events: readonly ChannelEvent[],
  published: readonly MaybePromise<EventId | undefined>[],
): Promise<readonly (EventId | undefined)[]> {
  const ids = await Promise.all(published);
  for (const event of events.slice(ids.length)) ids.push(await publish(hub, event));
  return ids;
}

/** What most triggers of channels with a history are answered with. Neither names of channels nor ids need escapes. */
function eventIdsJson({ channels }: Trigger, ids: readonly (EventId | undefined)[]): string {
  let members = '';
  for (let index = 0; index < channels.length; index++) {
    const id = ids[index];
    if (id === undefined) continue;
    const member = `"${channels[index]?.text}":"${id}"`;
    members = members === '' ? member : `${members},${member}`;
  }
  return `{"event_ids":{${members}}}`;
}

/** Names the values of a trigger by its channels. Values that are `undefined` are left out. */
function byChannel<T>(
  { channels }: Trigger,
  values: readonly (T | undefined)[],
): Readonly<Record<string, T | undefined>> {
  return Object.fromEntries(channels.map(({ text }, index) => [text, values[index]]));
}

function countsOf(
  { hub, app }: Call,
  channel: ChannelName,
  { attributes }: Trigger,
): MaybePromise<{ user_count?: number; subscription_count?: number }> {
  if (attributes.length === 0) return {};
  return after(
    ask('counts', () => hub.authority.counts(app, channel)),
    (counts) => applicableCounts(channel, attributes, counts),
  );
}
