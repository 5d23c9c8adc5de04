import { z } from 'zod';
import { type Operation, operation } from '../operation.ts';
import { servers } from './server-shapes.ts';

const time = z.int().min(0).describe('Milliseconds since 1970.');

/** The operation that shows what goes wrong. */
export const problemOperations: readonly Operation[] = [
  operation({
    id: 'listProblems',
    method: 'GET',
    path: '/apps/{id}/problems',
    role: 'support',
    summary:
      'List what clients and backends of an app did wrong since the start of each server, in groups, the last one first. Up to 256 groups of an app are remembered per realtime thread.',
    answer: z.strictObject({
      servers,
      problems: z.array(
        z
          .strictObject({
            source: z
              .enum(['client', 'connection', 'backend'])
              .describe(
                'client: a message on an open connection; connection: one that was refused or closed; backend: a request to the HTTP API.',
              ),
            kind: z.string().describe('The rule that was broken, such as `client-events-off`.'),
            text: z
              .string()
              .describe(
                'The text that these problems have in common; … replaces the parts that differ.',
              ),
            advice: z.string(),
            count: z.int().min(1),
            firstAtMs: time,
            lastAtMs: time,
            server: z.string().describe('The server that saw the last one.'),
            example: z
              .strictObject({
                text: z.string().describe('Without signatures, secrets and signed data.'),
                socket: z.string().optional(),
                user: z.string().optional(),
                address: z
                  .string()
                  .optional()
                  .describe('Missing if payloads are hidden from the caller.'),
                path: z.string().optional().describe('Of a request.'),
              })
              .describe('The last one.'),
          })
          .meta({ id: 'Problem' }),
      ),
    }),
    refusals: ['not-found', 'conflict'],
    act: async ({ apps, ask }, { path, rights }) => {
      const { tenant: app } = await apps.get(path('id'));
      const { servers, answer } = await ask.everywhere('problems', { appId: app.id });
      return {
        servers,
        problems: answer.map(({ example: { address, ...example }, ...group }) => ({
          ...group,
          example: rights.seesPayloads && address !== undefined ? { ...example, address } : example,
        })),
      };
    },
  }),
];
