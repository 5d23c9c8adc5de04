import { z } from 'zod';
import type { ChannelActivity } from '../asking/facts/live.ts';
import { addFigures } from '../asking/merge.ts';
import type { HourUsage } from './admin.ts';
import { type Operation, operation } from './operation.ts';
import { listLimit, numberIn } from './query-kinds.ts';
import { seesApp } from './rights.ts';

const count = z.int().min(0);

/** The operations that show current activity and past usage. */
export const liveOperations: readonly Operation[] = [
  operation({
    id: 'getLive',
    role: 'viewer',
    restricted: 'filtered',
    method: 'GET',
    path: '/live',
    summary:
      'Show the current activity of each app on all servers, and the connections of each server.',
    answer: z.strictObject({
      apps: z.array(
        z
          .strictObject({
            id: z.string(),
            connections: count,
            channels: count.describe('Occupied channels.'),
            messagesToday: count.describe('Messages of today, UTC.'),
            clientMessagesToday: count.describe('Messages of today that clients caused.'),
          })
          .meta({ id: 'AppActivity' }),
      ),
      servers: z.array(
        z
          .strictObject({
            name: z.string().describe('Host and port of the server.'),
            connections: count,
            apps: z
              .array(z.strictObject({ id: z.string(), connections: count }))
              .describe('The apps that have connections to the server.'),
          })
          .meta({ id: 'ServerActivity' }),
      ),
    }),
    act: async ({ ask }, { rights }) => {
      // First, so that the answer of any loop includes what all loops of this server know.
      await ask.loops('share-figures', {});
      const figures = addFigures(await ask.loops('live-figures', {}));
      const mine = <One extends { readonly appId: string }>(all: readonly One[]) =>
        all.filter(({ appId }) => seesApp(rights, appId));
      const apps = mine(figures.apps);
      const servers = figures.servers.map(({ name, apps }) => ({ name, apps: mine(apps) }));
      return {
        apps: apps.map(({ appId, connections, channels, messages, clientMessages }) => ({
          id: appId,
          connections,
          channels,
          messagesToday: messages,
          clientMessagesToday: clientMessages,
        })),
        servers: servers.map((server) => ({
          name: server.name,
          connections: server.apps.reduce((sum, { connections }) => sum + connections, 0),
          apps: server.apps.map(({ appId, connections }) => ({ id: appId, connections })),
        })),
      };
    },
  }),
  operation({
    id: 'listChannels',
    role: 'viewer',
    method: 'GET',
    path: '/apps/{id}/channels',
    summary: 'List the occupied channels of an app.',
    query: z.strictObject({
      prefix: z.string().default('').describe('List only channels whose names start with this.'),
      limit: listLimit(100),
      after: z
        .string()
        .regex(/^\d{1,16}$/, { error: 'must be the `next` of an earlier response' })
        .optional()
        .describe('Continue an earlier list: its `next`.'),
    }),
    answer: z.strictObject({
      channels: z.array(
        z
          .strictObject({
            name: z.string(),
            subscriptions: count.describe('Connections that are subscribed.'),
            users: count.describe('Users of a presence channel; 0 for others.'),
          })
          .meta({ id: 'Channel' }),
      ),
      more: z
        .boolean()
        .describe('Whether there are more channels. Without a prefix, the next page may be empty.'),
      next: z.string().nullable().describe('For `after`, to continue the list; null at the end.'),
    }),
    refusals: ['not-found', 'conflict'],
    act: async ({ apps, ask }, { path, query: { prefix, limit, after } }) => {
      const { tenant: app } = await apps.get(path('id'));
      const channels: ChannelActivity[] = [];
      let next = after;
      // A page may be short or empty, because each question searches a limited number of channels.
      const nextPage = async (position: string | undefined, most: number) =>
        await ask.loop('live-channels', { appId: app.id, prefix, after: position, limit: most });
      do {
        const page = await nextPage(next, limit - channels.length);
        channels.push(...page.channels);
        next = page.next;
      } while (next !== undefined && channels.length < limit);
      // Without a prefix, what follows is not searched: another look would cost the walk its place.
      if (prefix === '') return { channels, more: next !== undefined, next: next ?? null };
      let [rest, found] = [next, 0];
      while (rest !== undefined && found === 0) {
        const page = await nextPage(rest, 1);
        [rest, found] = [page.next, page.channels.length];
      }
      return { channels, more: found > 0, next: found > 0 ? (next ?? null) : null };
    },
  }),
  operation({
    id: 'listUsage',
    role: 'viewer',
    method: 'GET',
    path: '/apps/{id}/usage',
    summary:
      'List the messages of an app by day, or by hour with its connections. The newest comes first. Days without messages and hours in which no server was running are left out.',
    query: z.strictObject({
      days: numberIn({
        min: 1,
        max: 366,
        fallback: 30,
        description: 'How many days to list at most. Hours are kept for 14 days.',
      }),
      unit: z
        .enum(['day', 'hour'])
        .default('day')
        .describe('What to count by. What other servers count by hour arrives within a minute.'),
    }),
    answer: z.strictObject({
      usage: z.array(
        z
          .strictObject({
            day: z.iso.date().describe('Starts at midnight UTC.'),
            hour: z.int().min(0).max(23).optional().describe('Of the day, UTC. Only by hour.'),
            messages: count,
            clientMessages: count.describe(
              'Messages that clients caused. They do not count against the quota.',
            ),
            connections: z
              .strictObject({
                most: count,
                fewest: count,
                average: z.number().min(0),
              })
              .nullable()
              .optional()
              .describe(
                'Counted each 10 s on all servers; null if that was not possible. Only by hour.',
              ),
          })
          .meta({ id: 'Usage' }),
      ),
    }),
    refusals: ['not-found', 'conflict'],
    act: async ({ apps, usage }, { path, query }) => {
      const { tenant: app } = await apps.get(path('id'));
      if (query.unit === 'hour') {
        const hours = await usage.hoursOfApp(app.id, query.days * 24);
        return { usage: hours.map(showHour) };
      }
      const days = await usage.ofApp(app.id, query.days);
      return {
        usage: days.map(({ day, messages, clientMessages }) => ({ day, messages, clientMessages })),
      };
    },
  }),
];

function showHour({ startMs, messages, clientMessages, connections }: HourUsage) {
  const start = new Date(startMs);
  return {
    day: start.toISOString().slice(0, 10),
    hour: start.getUTCHours(),
    messages,
    clientMessages,
    connections:
      connections === undefined
        ? null
        : { ...connections, average: Math.round(connections.average * 100) / 100 },
  };
}
