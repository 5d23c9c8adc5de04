import { z } from 'zod';
import { tapKinds } from '../../channels/watching/tap.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';
import {
  RECORDS_PER_TICK,
  STREAM_MS,
  STREAMS_MAX,
  STREAMS_PER_APP_MAX,
  TICK_MS,
} from '../../watching/limits.ts';
import { type Operation, operation } from '../operation.ts';
import { streamEvents } from './stream-shapes.ts';

/** The longest name or text that can be searched for. */
const TEXT_MAX = 200;

const text = (description: string) =>
  z.string().min(1).max(TEXT_MAX).optional().describe(description);

const kinds = z
  .string()
  .transform((list, context) => {
    const named = list.split(',').map((name) => name.trim());
    const known = tapKinds.filter((kind) => named.includes(kind));
    if (named.every((name) => tapKinds.some((kind) => kind === name))) return known;
    const message = `must be some of ${tapKinds.join(', ')}, separated by commas`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  })
  .optional()
  .describe(`Show only these kinds, separated by commas: ${tapKinds.join(', ')}. Default: all.`);

/** The operation that shows an app live. */
export const streamOperations: readonly Operation[] = [
  operation({
    id: 'watchApp',
    method: 'GET',
    path: '/apps/{id}/stream',
    role: 'viewer',
    contentType: 'text/event-stream',
    summary: `Show what happens in an app, on all servers, as server-sent events. At most ${RECORDS_PER_TICK} events of a server are shown in ${TICK_MS} ms, and half of them are kept for everything but \`api\` and \`client\`; what is left out is counted in \`skipped\`. A reader that is too slow gets the newest. At most ${STREAMS_MAX} streams of a server and ${STREAMS_PER_APP_MAX} of one app are open at the same time; each ends after ${STREAM_MS / 60_000} minutes.`,
    query: z.strictObject({
      kinds,
      channel: text('Show only events of this channel.'),
      prefix: text('Show only events of channels whose names start with this.'),
      socket: text('Show only events of this connection.'),
      user: text('Show only events of this user.'),
      text: text(
        'Show only events with this text in a name, a reason or the data that are shown, in any case.',
      ),
    }),
    answer: z
      .custom<ReadableStream<Uint8Array>>()
      .meta({ type: 'string', 'x-events': streamEvents }),
    refusals: ['not-found', 'conflict', 'over-limit'],
    act: async ({ apps, watch }, { path, query, rights, caller, signal }) => {
      const { tenant: app } = await apps.get(path('id'));
      if (!app.enabled) throw new OperationRefused('conflict', 'The app is disabled');
      const { text: searched, ...filter } = query;
      const showsPayloads = rights.seesPayloads;
      return await watch(
        { appId: app.id, filter, text: searched, showsPayloads },
        { caller, signal },
      );
    },
  }),
];
