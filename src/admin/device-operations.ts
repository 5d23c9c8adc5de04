import { z } from 'zod';
import {
  deviceFilter,
  devicePlatform,
  nextPlace,
  placeAfter,
  registeredBefore,
  requireCondition,
  seenBefore,
  showDevice,
  shownDevice,
} from './device-shapes.ts';
import { NO_BODY, NO_QUERY, type Operation, operation } from './operation.ts';
import { numberIn, yesNo } from './query-kinds.ts';

const platform = devicePlatform.optional().describe('Only devices of this platform.');

/** What lists and removes the devices of an instance. */
export const deviceOperations: readonly Operation[] = [
  operation({
    id: 'listDevices',
    method: 'GET',
    path: '/instances/{id}/devices',
    summary:
      'List devices of a push instance, the oldest first. An answer may have fewer than asked for, or none, although there are more: then `next` is not null.',
    query: z.strictObject({
      platform,
      neverAccepted: yesNo('Only devices whose token no gateway has ever accepted.'),
      registeredBefore,
      seenBefore,
      limit: numberIn(1, 1000, 100, 'The most to list.'),
      after: placeAfter,
    }),
    body: NO_BODY,
    status: 200,
    answer: z.strictObject({ devices: z.array(shownDevice), next: nextPlace }),
    refusals: ['not-found'],
    act: async ({ devices }, { path, query }) => {
      const { limit, after, neverAccepted, ...rest } = query;
      const filter = deviceFilter({ ...rest, neverAccepted: neverAccepted === 'true' });
      const found = await devices.list(path('id'), filter, Number(after ?? 0), limit);
      return { devices: found.devices.map(showDevice), next: placeText(found.next) };
    },
  }),
  operation({
    id: 'removeDevices',
    method: 'POST',
    path: '/instances/{id}/devices/remove',
    summary:
      'Remove devices of a push instance with their interests, or count them. One condition at least is required. Each request looks at some thousand devices; go on with `next`. A device that is still in use registers again by itself.',
    query: NO_QUERY,
    body: z.strictObject({
      platform,
      neverAccepted: z
        .boolean()
        .optional()
        .describe('Only devices whose token no gateway has ever accepted.'),
      registeredBefore,
      seenBefore,
      dryRun: z.boolean().default(false).describe('Only count them.'),
      after: placeAfter,
    }),
    status: 200,
    answer: z.strictObject({
      devices: z.int().min(0).describe('How many were removed, or would be.'),
      dryRun: z.boolean(),
      next: nextPlace,
    }),
    refusals: ['not-found'],
    act: async ({ devices }, { path, body: { dryRun, after, ...given } }) => {
      const filter = requireCondition(deviceFilter(given));
      const done = await devices.remove(path('id'), filter, Number(after ?? 0), dryRun);
      return { devices: done.devices, dryRun, next: placeText(done.next) };
    },
  }),
];

function placeText(place: number | undefined): string | null {
  return place === undefined ? null : String(place);
}
