import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import type { Admin } from '../admin.ts';
import { type Operation, operation } from '../operation.ts';
import { nearChannel } from './near-channel.ts';

/** The limits of suggestions: empty channels of one event that get one, and occupied channels that are searched. */
const NEAR_FOR_MAX = 3;
const NEAR_AMONG_MAX = 5_000;

const PAGE = 1_000;
/** A page may be short or empty, so the number of questions has a limit of its own. */
const PAGES_MAX = 20;

/** The operation that sends an event. */
export const sendOperations: readonly Operation[] = [
  operation({
    id: 'sendEvent',
    role: 'operator',
    method: 'POST',
    path: '/apps/{id}/events',
    summary:
      'Send an event to channels of an app, under the rules, limits and quota of `POST /apps/ID/events` of the HTTP API, without a signature.',
    body: z.strictObject({
      name: z.string().describe('The name of the event.'),
      channels: z.array(z.string()),
      data: z.string().describe('What clients get as `data`, mostly JSON.'),
      socketId: z.string().optional().describe('The connection that must not get the event.'),
    }),
    answer: z.strictObject({
      channels: z.array(
        z.strictObject({
          name: z.string(),
          receivers: z
            .int()
            .min(0)
            .describe('Connections on all servers that were subscribed, also that of `socketId`.'),
          near: z
            .string()
            .nullable()
            .describe(
              `The occupied channel that was most likely meant, if the channel had no subscribers and one with a similar name has. Searched among ${NEAR_AMONG_MAX} channels, for the first ${NEAR_FOR_MAX} channels without subscribers.`,
            ),
        }),
      ),
    }),
    refusals: ['not-found', 'conflict', 'too-large', 'over-limit'],
    logLine: { message: 'Event sent', subject: 'app' },
    act: async ({ apps, live }, { path, body }) => {
      const { tenant: app } = await apps.get(path('id'));
      const reached = await live.send({ appId: app.id, ...body });
      const empty = reached.filter(({ receivers }) => receivers === 0).slice(0, NEAR_FOR_MAX);
      const occupied = empty.length === 0 ? [] : await occupiedChannels(live, app.id);
      const near = new Map<string, string | undefined>();
      for (const { name } of empty) {
        near.set(name, nearChannel(name, occupied));
        // A search takes up to 0.2 s if all names are long and similar.
        await setImmediate();
      }
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

async function occupiedChannels(live: Admin['live'], appId: string): Promise<readonly string[]> {
  const names: string[] = [];
  let after: string | undefined;
  for (let page = 0; page < PAGES_MAX && names.length < NEAR_AMONG_MAX; page++) {
    const { channels, next } = await live.channels({ appId, prefix: '', after, limit: PAGE });
    names.push(...channels.map(({ name }) => name));
    if (next === undefined) break;
    after = next;
  }
  return names;
}
