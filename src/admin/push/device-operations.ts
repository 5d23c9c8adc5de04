import { z } from 'zod';
import { type Operation, operation } from '../operation.ts';
import { filterText, listLimit, yesNo } from '../query-kinds.ts';
import {
  afterPlace,
  deviceFilter,
  deviceKind,
  devicePlatform,
  idPrefix,
  nextPlace,
  ofInterest,
  ofUser,
  registeredBefore,
  requireCondition,
  seenBefore,
  showDevice,
  shownDevice,
} from './device-shapes.ts';

const platform = devicePlatform.optional().describe('Only devices of this platform.');

/** The operations that list and remove devices of an instance. */
export const deviceOperations: readonly Operation[] = [
  operation({
    id: 'listDevices',
    role: 'support',
    method: 'GET',
    path: '/instances/{id}/devices',
    summary:
      'List devices of a push instance, the oldest first. A response may hold fewer devices than `limit`, or none, although there are more: then `next` is not null.',
    query: z.strictObject({
      id: idPrefix,
      user: ofUser,
      interest: ofInterest,
      platform,
      kind: deviceKind
        .optional()
        .describe('Only devices of Apple with a further token of this kind.'),
      import: filterText(
        'Only devices of the import with this name that no SDK has registered since.',
      ),
      neverAccepted: yesNo('Only devices whose token no gateway has ever accepted.'),
      paused: yesNo('Only devices that nothing is sent to for now: see `pausedUntil`.'),
      registeredBefore,
      seenBefore,
      limit: listLimit(100),
      after: afterPlace,
    }),
    answer: z.strictObject({ devices: z.array(shownDevice), next: nextPlace }),
    refusals: ['not-found'],
    act: async ({ devices }, { instanceId, query, rights }) => {
      const { limit, after, neverAccepted, paused, ...rest } = query;
      const filter = deviceFilter({
        ...rest,
        neverAccepted: neverAccepted === 'true',
        paused: paused === 'true',
      });
      const found = await devices.list(instanceId(), { filter, after: Number(after ?? 0), limit });
      return {
        devices: found.devices.map((one) => showDevice(one, rights)),
        next: nextText(found.next),
      };
    },
  }),
  operation({
    id: 'removeDevices',
    role: 'admin',
    method: 'POST',
    path: '/instances/{id}/devices/remove',
    summary:
      'Remove devices of a push instance with their interests, or count them. At least one condition is required. Each request covers a few thousand devices; continue with `next`. A device that is still in use registers again by itself.',
    body: z.strictObject({
      platform,
      neverAccepted: z
        .boolean()
        .optional()
        .describe('Only devices whose token no gateway has ever accepted.'),
      registeredBefore,
      seenBefore,
      dryRun: z.boolean().default(false).describe('Count the devices without removing them.'),
      after: afterPlace,
    }),
    answer: z.strictObject({
      devices: z.int().min(0).describe('How many devices were removed, or would be.'),
      dryRun: z.boolean(),
      next: nextPlace,
    }),
    refusals: ['not-found'],
    act: async ({ devices }, { instanceId, body: { dryRun, after, ...given } }) => {
      const filter = requireCondition(deviceFilter(given));
      const done = await devices.remove(instanceId(), {
        filter,
        after: Number(after ?? 0),
        dryRun,
      });
      return { devices: done.devices, dryRun, next: nextText(done.next) };
    },
  }),
];

function nextText(next: number | undefined): string | null {
  return next === undefined ? null : String(next);
}
