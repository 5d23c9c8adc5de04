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
        }),
      ),
    }),
    refusals: [],
    act: async ({ live }) => ({
      apps: (await live.apps()).map(({ appId, connections, channels, messages }) => ({
        id: appId,
        connections,
        channels,
        messagesToday: messages,
      })),
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
    }),
    refusals: ['not-found', 'conflict'],
    act: async ({ apps, live }, { path, query: { prefix, limit } }) => {
      const { app } = await apps.get(path('id'));
      const found = await live.channels(app.id, prefix, limit + 1);
      return { channels: found.slice(0, limit), more: found.length > limit };
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
        z.strictObject({ day: z.iso.date().describe('Begins at midnight UTC.'), messages: count }),
      ),
    }),
    refusals: ['not-found', 'conflict'],
    act: async ({ apps, usage }, { path, query }) => {
      const { app } = await apps.get(path('id'));
      const days = await usage.ofApp(app.id, query.days);
      return { usage: days.map(({ day, messages }) => ({ day, messages })) };
    },
  }),
];
