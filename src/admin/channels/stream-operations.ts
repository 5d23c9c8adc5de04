import { z } from 'zod';
import { tapKinds } from '../../channels/watching/tap.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';
import {
  RECORDS_PER_TICK,
  STREAM_MS,
  STREAM_OF_PROXY_MS,
  STREAMS_MAX,
  STREAMS_PER_APP_MAX,
  TICK_MS,
} from '../../watching/limits.ts';
import { type Operation, operation } from '../operation.ts';
import { filterText, someOf } from '../query-kinds.ts';
import { streamEvents } from './stream-shapes.ts';

/** The operation that shows an app live. */
export const streamOperations: readonly Operation[] = [
  operation({
    id: 'watchApp',
    method: 'GET',
    path: '/apps/{id}/stream',
    role: 'viewer',
    events: streamEvents,
    summary: `Show what happens in an app, on all servers, as server-sent events. At most ${RECORDS_PER_TICK} events of a server are shown in ${TICK_MS} ms, and half of them are kept for everything but \`api\` and \`client\`; what is left out is counted in \`skipped\`. A reader that is too slow gets the newest, and \`missed\` of the others. At most ${STREAMS_MAX} streams of a server and ${STREAMS_PER_APP_MAX} of one app or instance are open at the same time, the last of each for an admin of the whole server; beyond that, the user with the most streams loses one to a user with fewer. Each ends after ${STREAM_MS / 60_000} minutes, of a user of a proxy after ${STREAM_OF_PROXY_MS / 60_000}.`,
    query: z.strictObject({
      kinds: someOf(tapKinds),
      channel: filterText('Show only events of this channel.'),
      prefix: filterText('Show only events of channels whose names start with this.'),
      socket: filterText('Show only events of this connection.'),
      user: filterText('Show only events of this user.'),
      text: filterText(
        'Show only events with this text in a name, a reason or the data that are shown, in any case.',
      ),
    }),
    answer: z.custom<ReadableStream<Uint8Array>>(),
    refusals: ['not-found', 'conflict', 'over-limit'],
    act: async ({ apps, watch }, { path, query, rights, caller, signal }) => {
      const { tenant: app } = await apps.get(path('id'));
      if (!app.enabled) throw new OperationRefused('conflict', 'The app is disabled');
      const { text: searched, ...filter } = query;
      const showsPayloads = rights.seesPayloads;
      return await watch(
        { appId: app.id, filter, text: searched, showsPayloads },
        { caller, rights, signal },
      );
    },
  }),
];
