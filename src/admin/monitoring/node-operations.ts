import { z } from 'zod';
import { connectionLimits, type NodeReport } from '../../asking/facts/servers.ts';
import { server, servers } from '../channels/server-shapes.ts';
import { type Operation, operation } from '../operation.ts';

const count = z.int().min(0);
const rate = z.number().min(0).nullable();
const time = count.describe('Milliseconds since 1970.');

/** The operations about how each server does. */
export const nodeOperations: readonly Operation[] = [
  operation({
    id: 'listNodes',
    method: 'GET',
    path: '/nodes',
    role: 'viewer',
    summary:
      'List the servers that act as one over Redis, the one that answers first, with how each does. A server that stops answering stays in the list for 10 minutes; one that stops as it should does not.',
    answer: z.strictObject({
      nodes: z.array(
        z
          .strictObject({
            name: z.string().describe('Host and port of the server.'),
            answers: z.boolean(),
            isAsked: z.boolean().describe('Whether it is the server that answers this request.'),
            heardAtMs: time.describe(
              'When its last message reached the server that answers. Milliseconds since 1970.',
            ),
            silentSinceMs: time
              .nullable()
              .describe('When it first did not answer; null if it answers.'),
            report: z
              .strictObject({
                version: z.string(),
                startedAtMs: time,
                threads: z.array(
                  z.strictObject({
                    name: z.string(),
                    lateMs: z
                      .number()
                      .min(0)
                      .nullable()
                      .describe(
                        'The longest delay of its loop in the last 10 s. Milliseconds; null if a thread does not answer.',
                      ),
                  }),
                ),
                connections: count.nullable().describe('null if a thread does not answer.'),
                eventsPerSecond: rate.describe('Events triggered by backends; null if not known.'),
                deliveredPerSecond: rate.describe('Messages sent to subscribers.'),
                memoryBytes: count.nullable(),
                room: z
                  .strictObject({
                    connections: count,
                    limitedBy: z
                      .enum(connectionLimits)
                      .describe('`setting`: `channels.maxConnections`.'),
                  })
                  .nullable()
                  .describe(
                    'How many more connections it takes while clients are idle: what its limits leave, and half of the free memory at 8 KiB for each. null if not known.',
                  ),
                engine: z.strictObject({
                  type: z.enum(['memory', 'redis']),
                  awaySinceMs: time.nullable().describe('null if the engine can be used.'),
                  why: z.string().nullable(),
                }),
                notReady: z.array(z.string()).describe('Why it is not ready; empty if it is.'),
                conditions: z
                  .strictObject({ bad: count, warn: count })
                  .describe('How much an operator should look at there, by level.'),
              })
              .meta({ id: 'NodeReport' })
              .nullable()
              .describe('null if it does not answer.'),
          })
          .meta({ id: 'Node' }),
      ),
    }),
    act: async ({ ask }) => ({
      nodes: (await ask.everywhere('report', {})).answer.map(
        ({ name, isAsked, heardAtMs, silentSinceMs, report }) => ({
          name,
          answers: report !== undefined,
          isAsked,
          heardAtMs,
          silentSinceMs: silentSinceMs ?? null,
          report: report === undefined ? null : showReport(report),
        }),
      ),
    }),
  }),
  operation({
    id: 'getMemory',
    method: 'GET',
    path: '/memory',
    role: 'viewer',
    summary:
      'Show how full the shares of the memory are on each server. What happens when one is full is in the documentation of limits.',
    answer: z.strictObject({
      servers,
      memory: z.array(
        z.strictObject({
          server,
          shares: z
            .array(
              z.strictObject({
                share: z.string().describe('Its name in the log and in metrics.'),
                usedBytes: count.describe('What realtime threads use of it now.'),
                mostBytes: count
                  .nullable()
                  .describe('What it takes if it is full; null if nothing bounds it.'),
              }),
            )
            .describe('Those that realtime threads fill and can measure.'),
        }),
      ),
    }),
    act: async ({ ask }) => {
      const { servers: asked, answer } = await ask.everywhere('memory', {});
      const memory = answer.map((one) => ({ server: one.node, shares: one.answer }));
      return { servers: asked, memory };
    },
  }),
];

function showReport({ figures, engine, threads, bad, warn, ...report }: NodeReport) {
  const { version, startedAtMs, notReady } = report;
  return {
    version,
    startedAtMs,
    threads: threads.map(({ name, lateMs }) => ({ name, lateMs: lateMs ?? null })),
    connections: figures?.connections ?? null,
    eventsPerSecond: figures?.eventsPerSecond ?? null,
    deliveredPerSecond: figures?.deliveredPerSecond ?? null,
    memoryBytes: figures?.memoryBytes ?? null,
    room: figures?.room ?? null,
    engine: {
      type: engine.type,
      awaySinceMs: engine.awaySinceMs ?? null,
      why: engine.why ?? null,
    },
    notReady,
    conditions: { bad, warn },
  };
}
