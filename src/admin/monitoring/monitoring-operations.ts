import { z } from 'zod';
import { bySeries, type SeriesName } from '../../asking/facts/servers.ts';
import { servers } from '../channels/server-shapes.ts';
import { type Operation, operation } from '../operation.ts';
import { seesApp, seesEverything, seesInstance } from '../rights.ts';

const time = z.int().min(0).describe('Milliseconds since 1970.');

const listener = z
  .strictObject({ host: z.string(), port: z.int(), tls: z.boolean() })
  .meta({ id: 'Listener' });

const seriesWords: Readonly<Record<SeriesName, string>> = {
  connections: 'Open connections.',
  deliveredPerSecond: 'Messages sent to subscribers, per second.',
  eventsPerSecond: 'Events triggered by backends, per second.',
  loopLateMs: 'The longest delay of any realtime loop in the last 10 s. Milliseconds.',
  memoryBytes: 'Resident memory of the processes.',
  webhooksWaiting: 'Webhook requests that wait in the store.',
  pushWaiting: 'Pages of up to 1,000 devices, and single devices, that wait for delivery.',
  resumedPerSecond: 'Subscriptions of clients that got all that they missed, per second.',
  gapsPerSecond: 'Subscriptions of clients that learned of a gap, per second.',
};

/** The operations about the state of servers. */
export const monitoringOperations: readonly Operation[] = [
  operation({
    id: 'getServer',
    method: 'GET',
    path: '/server',
    role: 'viewer',
    restricted: 'filtered',
    summary: 'Show what this server is, and where it listens.',
    answer: z
      .strictObject({
        name: z.string().describe('Host and port of the server.'),
        version: z.string(),
        command: z.string().describe('How the program is called there, such as `npx fanfare`.'),
        startedAtMs: time,
        threads: z.int().min(1).describe('Realtime threads.'),
        engine: z.enum(['memory', 'redis']),
        store: z.enum(['sqlite', 'postgresql']),
        listeners: z.strictObject({
          channels: listener.extend({ pathPrefix: z.string() }),
          push: listener.extend({ publicUrl: z.string().nullable() }),
          admin: listener,
        }),
        payloads: z
          .enum(['show', 'hide'])
          .describe('Whether the caller sees payloads and personal data.'),
      })
      .meta({ id: 'Server' }),
    act: async ({ server }, { rights }) => ({
      ...server(),
      payloads: rights.seesPayloads ? ('show' as const) : ('hide' as const),
    }),
  }),
  operation({
    id: 'listConditions',
    method: 'GET',
    path: '/conditions',
    role: 'viewer',
    restricted: 'filtered',
    summary:
      'List what an operator should look at on any server now, the worst first, each with advice. Who sees only some apps or instances gets what is about these.',
    answer: z.strictObject({
      checkedAtMs: time,
      checked: z.int().min(1).describe('How many things were checked.'),
      conditions: z.array(
        z
          .strictObject({
            id: z.string().describe('What it is about, such as `store-away`.'),
            level: z
              .enum(['bad', 'warn'])
              .describe('bad: something does not work now, or was lost; warn: it soon may.'),
            text: z.string(),
            advice: z.string(),
            sinceMs: time,
            app: z.string().optional(),
            instance: z.string().optional(),
            webhookUrl: z
              .string()
              .optional()
              .describe('User, password, fragment and query values are shown as ***.'),
            servers: z.array(z.string()).describe('The servers that have found it.'),
          })
          .meta({ id: 'Condition' }),
      ),
      servers,
    }),
    act: async ({ ask }, { rights }) => {
      const { servers: asked, answer } = await ask.everywhere('conditions', {});
      const conditions = answer.conditions.filter(
        ({ app, instance }) =>
          seesEverything(rights) ||
          (app !== undefined && seesApp(rights, app)) ||
          (instance !== undefined && seesInstance(rights, instance)),
      );
      return { ...answer, conditions, servers: asked };
    },
  }),
  operation({
    id: 'getFigures',
    method: 'GET',
    path: '/figures',
    role: 'viewer',
    restricted: 'filtered',
    summary:
      'Show figures of all servers together for up to 24 hours, in steps of 10 seconds. Not for callers who may see only some apps or instances.',
    query: z.strictObject({
      since: z
        .string()
        .regex(/^\d{1,15}$/, { error: 'must be milliseconds since 1970' })
        .default('0')
        .describe('Leave out what was before this time, in milliseconds since 1970.'),
    }),
    answer: z
      .strictObject({
        nowMs: time,
        stepMs: z.int().min(1),
        fromMs: time.describe('When the first step begins. Milliseconds since 1970.'),
        series: z
          .strictObject(
            bySeries((name) => z.array(z.number().nullable()).describe(seriesWords[name])),
          )
          .describe('One value for each step; null where nothing was measured.'),
        servers,
      })
      .meta({ id: 'Figures' }),
    act: async ({ ask }, { query, rights }) => {
      const sinceMs = Number(query.since);
      const { servers: asked, answer } = await ask.everywhere('figures', { sinceMs });
      // These figures are those of all tenants together.
      return seesEverything(rights)
        ? { ...answer, servers: asked }
        : { ...answer, series: bySeries(() => []), servers: [] };
    },
  }),
];
