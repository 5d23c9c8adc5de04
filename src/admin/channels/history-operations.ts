import { z } from 'zod';
import { parseEventId } from '../../channels/history/event-id.ts';
import { historyRuleOf } from '../../channels/history/history-rule.ts';
import type { StoredEvent } from '../../channels/history/page.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';
import { type Operation, operation } from '../operation.ts';
import { listLimit } from '../query-kinds.ts';
import { channelIn } from './inspect-operations.ts';

const count = z.int().min(0);
const EVENT_ID = 'must be the id of an event, like 1042-k3x9q2ab';
const eventId = z.string().refine((text) => parseEventId(text) !== undefined, { error: EVENT_ID });

/** The operations on the histories of channels. */
export const historyOperations: readonly Operation[] = [
  operation({
    id: 'getChannelHistory',
    method: 'GET',
    path: '/apps/{id}/channels/{name}/history',
    role: 'support',
    summary:
      'List the events in the history of a channel, newest first. With `after`: what a client gets whose last event was this one, oldest first.',
    query: z.strictObject({
      limit: listLimit(100),
      before: eventId.optional().describe('Only events before this one.'),
      after: eventId.optional().describe('Only events after this one. Not together with `before`.'),
    }),
    answer: z
      .strictObject({
        name: z.string(),
        rule: z
          .strictObject({ seconds: count, events: count, bytes: count, replay: count })
          .nullable()
          .describe('The rule that fits the channel; null: it keeps no history.'),
        events: z.array(
          z
            .strictObject({
              id: z.string(),
              name: z.string(),
              data: z
                .string()
                .nullable()
                .describe(
                  'null for encrypted channels, and if payloads are hidden from the caller.',
                ),
              bytes: count.describe('The length of the data.'),
              atMs: count.describe('When it was published. Milliseconds since 1970.'),
              exceptSocketId: z.string().nullable().describe('The connection that did not get it.'),
            })
            .meta({ id: 'StoredEvent' }),
        ),
        lastId: z
          .string()
          .nullable()
          .describe(
            'The newest event, even if it is forgotten, or number 0 before the first one; null: the channel keeps none.',
          ),
        more: z.boolean().describe('Whether further events are kept in this direction.'),
        complete: z
          .boolean()
          .nullable()
          .describe(
            'With `after`: whether nothing is missing after that event. If not, a client learns of a gap. Else null.',
          ),
      })
      .meta({ id: 'ChannelHistory' }),
    refusals: ['not-found', 'conflict'],
    act: async ({ apps, ask }, { path, query, rights }) => {
      const channel = channelIn(path('name'));
      const { tenant: app } = await apps.get(path('id'));
      const [before, after] = [query.before, query.after].map((text) => text && parseEventId(text));
      if (before && after) {
        throw new OperationRefused('invalid', 'after: not together with before', 'after');
      }
      const { limit } = query;
      const rule = historyRuleOf(app, channel.text);
      const page = await ask.loop('read-history', {
        appId: app.id,
        channel: channel.text,
        query: after
          ? { order: 'oldest-first', after, limit }
          : { order: 'newest-first', before: before || undefined, limit },
      });
      const showsData = rights.seesPayloads && channel.kind !== 'encrypted';
      return {
        name: channel.text,
        rule: rule === undefined ? null : shownRule(rule),
        events: page.events.map((event) => shownEvent(event, showsData)),
        lastId: page.lastId ?? null,
        more: page.more,
        complete: after ? page.complete : null,
      };
    },
  }),
  operation({
    id: 'forgetChannelHistory',
    method: 'DELETE',
    path: '/apps/{id}/channels/{name}/history',
    role: 'operator',
    summary:
      'Forget the kept events of a channel, the cached one included. Every client that resumes learns of a gap.',
    answer: z.strictObject({ name: z.string(), forgotten: z.literal(true) }),
    refusals: ['not-found', 'conflict'],
    logLine: { message: 'History forgotten by an operator', subject: 'app' },
    act: async ({ apps, ask }, { path }) => {
      const channel = channelIn(path('name'));
      const { tenant: app } = await apps.get(path('id'));
      await ask.loop('forget-history', { appId: app.id, channel: channel.text });
      return { name: channel.text, forgotten: true as const };
    },
  }),
];

function shownRule({
  seconds,
  events,
  bytes,
  replay,
}: NonNullable<ReturnType<typeof historyRuleOf>>) {
  return { seconds, events, bytes, replay };
}

function shownEvent({ id, frame, timeMs, except }: StoredEvent, showsData: boolean) {
  const { event, data }: { event: string; data: string } = JSON.parse(frame);
  return {
    id,
    name: event,
    data: showsData ? data : null,
    bytes: Buffer.byteLength(data),
    atMs: timeMs,
    exceptSocketId: except ?? null,
  };
}
