import { z } from 'zod';
import { type Operation, operation } from '../operation.ts';
import { listLimit, numberIn } from '../query-kinds.ts';
import { afterPlace, devicePlatform, nextPlace } from './device-shapes.ts';
import {
  showDetails,
  showEvent,
  showLastPublish,
  shownDetails,
  shownEvent,
  shownLastPublish,
  shownUnreached,
  showUnreached,
  unreachedState,
} from './device-story-shapes.ts';

/** The operations about one device, and about results at devices. */
export const deviceStoryOperations: readonly Operation[] = [
  operation({
    id: 'getDevice',
    role: 'support',
    method: 'GET',
    path: '/instances/{id}/devices/{device}',
    summary:
      'Show one device of a push instance: its registration and its interests, or why the server removed it.',
    answer: shownDetails,
    refusals: ['not-found'],
    act: async ({ devices }, { path, instanceId, rights }) => {
      const found = await devices.find(instanceId(), path('device'));
      const [interests, cap] = await Promise.all([
        devices.interests(instanceId(), found.id),
        devices.usedCap(instanceId(), found),
      ]);
      const { id, registered, removed, ...rest } = showDetails(
        found,
        { ...interests, cap },
        rights,
      );
      return { id, ...rest, registered: registered ?? null, removed: removed ?? null };
    },
  }),
  operation({
    id: 'removeDevice',
    role: 'admin',
    method: 'DELETE',
    path: '/instances/{id}/devices/{device}',
    summary:
      'Remove one device of a push instance with its interests. A device that is still in use registers again by itself.',
    answer: z.strictObject({ id: z.string(), removed: z.literal(true) }),
    refusals: ['not-found'],
    act: async ({ devices }, { path, instanceId }) => ({
      id: await devices.removeOne(instanceId(), path('device')),
      removed: true as const,
    }),
  }),
  operation({
    id: 'listDevicePublishes',
    role: 'support',
    method: 'GET',
    path: '/instances/{id}/devices/{device}/publishes',
    summary:
      'List the newest publishes that were for a device, and what became of each there. A request looks at the last 200 publishes of the instance; continue with `next`.',
    query: z.strictObject({
      limit: numberIn({ min: 1, max: 50, fallback: 10, description: 'How many to list at most.' }),
      after: afterPlace,
    }),
    answer: z.strictObject({
      publishes: z.array(shownLastPublish),
      looked: z.int().min(0).describe('How many publishes of the instance were looked at.'),
      next: nextPlace,
    }),
    refusals: ['not-found'],
    act: async ({ devices }, { path, instanceId, query: { limit, after } }) => {
      const found = await devices.find(instanceId(), path('device'));
      const before = after === undefined ? undefined : Number(after);
      const list = await devices.lastPublishes(instanceId(), [found], { before, limit });
      const { publishes, looked, next } = list;
      return {
        publishes: publishes.map(showLastPublish),
        looked,
        next: next === undefined ? null : String(next),
      };
    },
  }),
  operation({
    id: 'listPublishDevices',
    role: 'support',
    method: 'GET',
    path: '/instances/{id}/publishes/{publish}/devices',
    summary:
      'List the devices that a publish has not reached, or not yet, and why. A response may hold fewer devices than `limit`, or none, although there are more: then `next` is not null.',
    query: z.strictObject({
      reason: z.string().min(1).max(300).optional().describe('Only those with this reason.'),
      platform: devicePlatform.optional().describe('Only devices of this platform.'),
      state: unreachedState.optional().describe('Only those in this state.'),
      limit: listLimit(100),
      after: afterPlace,
    }),
    answer: z.strictObject({ devices: z.array(shownUnreached), next: nextPlace }),
    refusals: ['not-found'],
    act: async ({ devices }, { path, instanceId, query: { after, ...query } }) => {
      const given = { ...query, publish: path('publish'), after: Number(after ?? 0) };
      const { devices: unreached, next } = await devices.unreached(instanceId(), given);
      return {
        devices: unreached.map(showUnreached),
        next: next === undefined ? null : String(next),
      };
    },
  }),
  operation({
    id: 'explainDevice',
    role: 'support',
    method: 'GET',
    path: '/instances/{id}/publishes/{publish}/devices/{device}',
    summary: 'Explain in a timeline why a device did or did not get a publish.',
    answer: z
      .strictObject({
        publish: z.string(),
        device: z.string(),
        platform: devicePlatform,
        events: z.array(shownEvent).describe('The oldest first; those without a time come last.'),
      })
      .meta({ id: 'Timeline' }),
    refusals: ['not-found'],
    act: async ({ devices }, { path, instanceId }) => {
      const given = { publish: path('publish'), device: path('device') };
      const { status, explanation } = await devices.explain(instanceId(), given);
      const { deviceId, platform, events } = explanation;
      return { publish: status.id, device: deviceId, platform, events: events.map(showEvent) };
    },
  }),
];
