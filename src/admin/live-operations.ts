import { z } from 'zod';
import { NO_BODY, NO_QUERY, type Operation, operation } from './operation.ts';
import { numberIn } from './query-kinds.ts';

const count = z.int().min(0);

/** What shows what happens now, and what was used. */
export const liveOperations: readonly Operation[] = [
  operation({
    id: 'live',
    method: 'GET',
    path: '/live',
    summary: 'What each app does now.',
    query: NO_QUERY,
    body: NO_BODY,
    status: 200,
    answer: z.strictObject({
      apps: z.array(
        z.strictObject({
          id: z.string(),
          connections: count,
          channels: count.describe('Channels that are occupied.'),
          messagesToday: count.describe('Messages of today, UTC.'),
          clientMessagesToday: count.describe('Those of them that clients caused.'),
        }),
      ),
    }),
    refusals: [],
    act: async ({ live }) => ({
      apps: (await live.apps()).map(
        ({ appId, connections, channels, messages, clientMessages }) => ({
          id: appId,
          connections,
          channels,
          messagesToday: messages,
          clientMessagesToday: clientMessages,
        }),
      ),
    }),
  }),
  operation({
    id: 'listChannels',
    method: 'GET',
    path: '/apps/{id}/channels',
    summary: 'List the occupied channels of an app.',
    query: z.strictObject({
      prefix: z.string().default('').describe('What their names begin with.'),
      limit: numberIn(1, 1000, 100, 'The most to list.'),
      after: z
        .string()
        .regex(/^\d{1,16}$/, { error: 'must be the `next` of an earlier answer' })
        .optional()
        .describe('The `next` of an earlier answer: where to go on.'),
    }),
    body: NO_BODY,
    status: 200,
    answer: z.strictObject({
      channels: z.array(
        z.strictObject({
          name: z.string(),
          subscriptions: count.describe('Connections that are subscribed.'),
          users: count.describe('Users in a presence channel; 0 in others.'),
        }),
      ),
      more: z.boolean().describe('Whether there are more than were listed.'),
      next: z.string().nullable().describe('Where to go on; null at the end.'),
    }),
    refusals: ['not-found', 'conflict'],
    act: async ({ apps, live }, { path, query: { prefix, limit, after } }) => {
      const { app } = await apps.get(path('id'));
      const channels: Awaited<ReturnType<typeof live.channels>>['channels'][number][] = [];
      let next = after;
      do {
        const query = { appId: app.id, prefix, after: next, limit: limit - channels.length };
        const page = await live.channels(query);
        channels.push(...page.channels);
        next = page.next;
        // A page may be short, or empty, where much had to be searched for it.
      } while (next !== undefined && channels.length < limit);
      return { channels, more: next !== undefined, next: next ?? null };
    },
  }),
  operation({
    id: 'listUsage',
    method: 'GET',
    path: '/apps/{id}/usage',
    summary: 'Messages of an app on each day that had some, the newest first.',
    query: z.strictObject({ days: numberIn(1, 366, 30, 'The most days to list.') }),
    body: NO_BODY,
    status: 200,
    answer: z.strictObject({
      usage: z.array(
        z.strictObject({
          day: z.iso.date().describe('Begins at midnight UTC.'),
          messages: count,
          clientMessages: count.describe(
            'Those of them that clients caused; they do not use up the quota.',
          ),
        }),
      ),
    }),
    refusals: ['not-found', 'conflict'],
    act: async ({ apps, usage }, { path, query }) => {
      const { app } = await apps.get(path('id'));
      const days = await usage.ofApp(app.id, query.days);
      return {
        usage: days.map(({ day, messages, clientMessages }) => ({ day, messages, clientMessages })),
      };
    },
  }),
];
