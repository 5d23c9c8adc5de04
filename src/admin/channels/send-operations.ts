import { z } from 'zod';
import type { ReachedChannel, SendAnswer } from '../../asking/facts/live.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';
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
    act: async ({ apps, ask, near: findNear }, { path, body }) => {
      const { tenant: app } = await apps.get(path('id'));
      const { name: event, channels, data, socketId } = body;
      const json = JSON.stringify({ name: event, channels, data, socket_id: socketId });
      const reached = channelsOf(await ask.loop('send', { appId: app.id, json }));
      const empty = reached.filter(({ receivers }) => receivers === 0).map(({ name }) => name);
      const near = await findNear(app.id, empty);
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

/** The channels that the event was sent to. Throws `OperationRefused` if it was refused. */
function channelsOf(answer: SendAnswer): readonly ReachedChannel[] {
  if ('channels' in answer) return answer.channels;
  const why = answer.why.replace(/^socket_id\b/, 'socketId');
  // The message begins with the name of the field.
  const [, field] = /^([a-z][a-zA-Z]*(?:\[\d+\])?): /.exec(why) ?? [];
  throw new OperationRefused(answer.refused, why, field);
}
