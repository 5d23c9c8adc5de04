import { z } from 'zod';
import type { LogFilter } from '../../asking/facts/log.ts';
import { logLevels } from '../../runtime/logging/log-level.ts';
import { server, servers } from '../channels/server-shapes.ts';
import { type Operation, operation } from '../operation.ts';
import { listLimit } from '../query-kinds.ts';

/** The longest text that can be searched for. */
const TEXT_MAX = 200;

const number = z.int().min(0);

const line = z.strictObject({
  n: number.describe('Rises with every line of a server, also over restarts.'),
  atMs: number.describe('Milliseconds since 1970.'),
  level: z.enum(logLevels),
  message: z.string(),
  fields: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .describe('As the log has them. `address` is missing if payloads are hidden from the caller.'),
});

const wholeNumber = (what: string, description: string) =>
  z
    .string()
    .regex(/^\d{1,15}$/, { error: `must be ${what}` })
    .transform(Number)
    .optional()
    .describe(description);

const filter = {
  level: z.enum(logLevels).default('debug').describe('The least level.'),
  text: z
    .string()
    .min(1)
    .max(TEXT_MAX)
    .optional()
    .describe('Only lines with this text in the message or as `field=value`, in any case.'),
};

const streamEvents = {
  hello: z.strictObject({
    node: z.string().describe('The server whose log it is.'),
    last: number.describe('`n` of its newest line.'),
  }),
  lines: z.strictObject({
    lines: z.array(line),
    skipped: number.describe('Older lines that were left out because the reader was too slow.'),
  }),
  end: z.strictObject({
    why: z
      .enum(['time', 'stopping', 'session-ended', 'displaced'])
      .describe(
        '`time`: it has lasted long enough; open the next one with `after`. `displaced`: its place went to a user with fewer streams.',
      ),
  }),
};

/** The operations that show the log of a server. Its lines name addresses and users, so viewers may not read them. */
export const logOperations: readonly Operation[] = [
  operation({
    id: 'listLog',
    method: 'GET',
    path: '/log',
    role: 'support',
    summary:
      'List the last lines of the logs of all servers, the oldest first. Each server keeps up to 1,000 lines and 1 MiB; if one app or instance has most of them, its oldest lines go first. A page may be longer or shorter than `limit`, because it has all or none of the lines of a millisecond.',
    query: z.strictObject({
      ...filter,
      before: wholeNumber(
        'the `next` of an earlier response',
        'List lines before this time, to go back. Milliseconds since 1970.',
      ),
      limit: listLimit(100),
    }),
    answer: z.strictObject({
      servers,
      lines: z.array(line.extend({ server }).meta({ id: 'LogLine' })),
      next: number.nullable().describe('For `before`, to go back; null at the oldest line.'),
    }),
    act: async ({ ask }, { query: { before, limit, ...query }, rights }) => {
      const asked = { ...filterOf(query, rights), beforeMs: before, limit };
      const { servers: names, answer } = await ask.everywhere('log', asked);
      const { lines, more } = answer;
      return { servers: names, lines, next: more ? (lines[0]?.atMs ?? null) : null };
    },
  }),
  operation({
    id: 'watchLog',
    method: 'GET',
    path: '/log/stream',
    role: 'support',
    events: streamEvents,
    summary:
      'Stream new log lines of the server that answers, as server-sent events. A reader that is too slow loses the oldest lines. At most 4 such streams are open at the same time, the last for an admin of the whole server; beyond that, the user with the most loses one to a user with fewer. Each ends after 30 minutes, of a user of a proxy after 5.',
    query: z.strictObject({
      ...filter,
      after: wholeNumber(
        'the `n` of a line',
        'Begin with the kept lines after this one. Default: with the next line.',
      ),
    }),
    answer: z.custom<ReadableStream<Uint8Array>>(),
    refusals: ['over-limit'],
    act: async ({ followLog }, { query: { after, ...query }, rights, caller, signal }) =>
      followLog({ ...filterOf(query, rights), after }, { caller, rights, signal }),
  }),
];

function filterOf(
  { level, text }: Pick<LogFilter, 'level' | 'text'>,
  { seesPayloads }: { readonly seesPayloads: boolean },
): LogFilter {
  return { level, text, showsAddresses: seesPayloads };
}
