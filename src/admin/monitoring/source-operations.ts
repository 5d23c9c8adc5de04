import { z } from 'zod';
import { server, servers } from '../channels/server-shapes.ts';
import { type Operation, operation } from '../operation.ts';

const figure = z.number().min(0).nullable();
const why = z.string().describe('Why it cannot be followed, or why its rows wait; else empty.');

/** The operations about databases of applications. */
export const sourceOperations: readonly Operation[] = [
  operation({
    id: 'listSources',
    method: 'GET',
    path: '/sources',
    role: 'viewer',
    summary:
      'List the databases of applications whose outboxes are followed (`sources`), with who follows each, and what waits there. Figures are up to 5 s old, and null until they were read.',
    answer: z.strictObject({
      servers,
      sources: z.array(
        z
          .strictObject({
            source: z.int().min(0).describe('Its place in the setting `sources`.'),
            url: z.string().describe('User, password and values of parameters are shown as ***.'),
            schema: z.string(),
            app: z.string(),
            instance: z.string().nullable(),
            follower: z
              .string()
              .nullable()
              .describe('The server that follows it; null if none does.'),
            lagSeconds: figure.describe('Age of the oldest row that waits; 0 if none waits.'),
            waiting: figure.describe('Rows that wait, counted up to 10,000.'),
            failed: figure.describe('Rows that can never be sent, counted up to 10,000.'),
            lastFailure: z
              .string()
              .nullable()
              .describe(
                'Why the last of these failed; null if none has, or if payloads are hidden.',
              ),
            states: z.array(
              z.strictObject({
                server,
                state: z
                  .enum(['following', 'waiting', 'away', 'stopped'])
                  .describe('waiting: another server follows; away: its database cannot be used.'),
                why,
              }),
            ),
          })
          .meta({ id: 'Source' }),
      ),
    }),
    act: async ({ ask }, { rights }) => {
      const { servers: asked, answer } = await ask.everywhere('sources', {});
      const sources = answer.map(({ servers: states, lastFailure, ...source }) => ({
        ...source,
        lastFailure: rights.seesPayloads ? lastFailure : null,
        states: [...states],
      }));
      return { servers: asked, sources };
    },
  }),
];
