import { z } from 'zod';
import { type Operation, operation } from '../operation.ts';
import { NEAR_AMONG_MAX, NEAR_FOR_MAX } from './near-search.ts';

/** The operation that sends an event. */
export const sendOperations: readonly Operation[] = [
  operation({
    id: 'sendEvent',
    role: 'operator',
    method: 'POST',
    path: '/apps/{id}/events',
    summary:
      'Send an event to channels of an app, under the rules, limits and quota of `POST /apps/ID/events` of the HTTP API, without a signature.',
    body: z
      .strictObject({
        name: z.string().describe('The name of the event.'),
        channels: z.array(z.string()),
        data: z.string().describe('What clients get as `data`, mostly JSON.'),
        socketId: z.string().optional().describe('The connection that must not get the event.'),
      })
      .meta({ id: 'NewEvent' }),
    answer: z.strictObject({
      channels: z.array(
        z
          .strictObject({
            name: z.string(),
            receivers: z
              .int()
              .min(0)
              .describe(
                'Connections on all servers that were subscribed, also that of `socketId`.',
              ),
            near: z
              .string()
              .nullable()
              .describe(
                `The occupied channel that was most likely meant, if the channel had no subscribers and one with a similar name has. Searched among ${NEAR_AMONG_MAX} channels, for the first ${NEAR_FOR_MAX} channels without subscribers, and only while few other events wait for a search.`,
              ),
          })
          .meta({ id: 'ReachedChannel' }),
      ),
    }),
    refusals: ['not-found', 'conflict', 'too-large', 'over-limit'],
    logLine: { message: 'Event sent', subject: 'app' },
    act: async ({ apps, live }, { path, body }) => {
      const { tenant: app } = await apps.get(path('id'));
      const reached = await live.send({ appId: app.id, ...body });
      const empty = reached.filter(({ receivers }) => receivers === 0).map(({ name }) => name);
      const near = await live.near(app.id, empty);
      return {
        channels: reached.map(({ name, receivers }) => ({
          name,
          receivers,
          near: near.get(name) ?? null,
        })),
      };
    },
  }),
];
