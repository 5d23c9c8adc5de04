import { z } from 'zod';
import { pushTapKinds } from '../../push/watching/push-tap.ts';
import {
  RECORDS_PER_TICK,
  STREAM_MS,
  STREAM_OF_PROXY_MS,
  STREAMS_MAX,
  STREAMS_PER_APP_MAX,
  TICK_MS,
} from '../../watching/limits.ts';
import { watchedInstance } from '../../watching/records.ts';
import { type Operation, operation } from '../operation.ts';
import { filterText, someOf } from '../query-kinds.ts';
import { devicePlatform } from './device-shapes.ts';
import { pushStreamEvents } from './stream-shapes.ts';

/** The operation that shows an instance live. Ids of devices are secrets, so viewers may not read it. */
export const pushStreamOperations: readonly Operation[] = [
  operation({
    id: 'watchInstance',
    method: 'GET',
    path: '/instances/{id}/stream',
    role: 'support',
    events: pushStreamEvents,
    summary: `Show what happens in a push instance, on all servers, as server-sent events: publishes, what became of them at each device, pauses of gateways, reports and registrations. Tokens of devices and payloads are never shown. At most ${RECORDS_PER_TICK} events of a server are shown in ${TICK_MS} ms, and no kind takes more than half of the room that the others leave; what is left out is counted in \`skipped\`. A reader that is too slow gets the newest, and \`missed\` of the others. Devices that were deleted after they were planned are not shown. At most ${STREAMS_MAX} streams of a server and ${STREAMS_PER_APP_MAX} of one app or instance are open at the same time, the last of each for an admin of the whole server; beyond that, the user with the most streams loses one to a user with fewer. Each ends after ${STREAM_MS / 60_000} minutes, of a user of a proxy after ${STREAM_OF_PROXY_MS / 60_000}.`,
    query: z.strictObject({
      kinds: someOf(pushTapKinds),
      publish: filterText('Show only events of this publish.'),
      device: filterText('Show only events of this device.'),
      user: filterText('Show only events of devices of this user.'),
      platform: devicePlatform.optional().describe('Show only events of this platform.'),
      text: filterText(
        'Show only events with this text in an id, a name or a reason, in any case.',
      ),
    }),
    answer: z.custom<ReadableStream<Uint8Array>>(),
    refusals: ['not-found', 'over-limit'],
    act: async ({ instances, watch }, { instanceId, query, rights, caller, signal }) => {
      const { tenant: instance } = await instances.get(instanceId());
      const { text, ...filter } = query;
      const appId = watchedInstance(instance.id);
      const showsPayloads = rights.seesPayloads;
      return await watch({ appId, filter, text, showsPayloads }, { caller, rights, signal });
    },
  }),
];
