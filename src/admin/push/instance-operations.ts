import { z } from 'zod';
import { type Operation, operation } from '../operation.ts';
import { refuseOwnBounds } from '../own-bounds.ts';
import { seesInstance } from '../rights.ts';
import {
  changedTenant,
  changeQuery,
  isDryRun,
  notServedList,
  onTenant,
  secretsQuery,
  showTried,
} from '../tenant-shapes.ts';
import { instanceChange, newInstanceBody, showInstance, shownInstance } from './instance-shapes.ts';
import { refuseOperatorsSettings } from './operators-settings.ts';

/** The operations that manage push instances. */
export const instanceOperations: readonly Operation[] = [
  operation({
    id: 'listInstances',
    role: 'viewer',
    restricted: 'filtered',
    method: 'GET',
    path: '/instances',
    summary: 'List the push instances. Instances of the configuration come first.',
    query: secretsQuery,
    answer: z.strictObject({
      instances: z.array(shownInstance),
      notServed: notServedList('instance'),
    }),
    act: async ({ instances }, { query, rights }) => {
      const { kept, notServed } = await instances.list();
      const withSecrets = query.secrets === 'true';
      const seen = kept.filter(({ tenant }) => seesInstance(rights, tenant.id));
      return {
        instances: seen.map((one) => showInstance(one, withSecrets)),
        notServed: notServed.filter(({ id }) => seesInstance(rights, id)),
      };
    },
  }),
  operation({
    id: 'createInstance',
    role: 'admin',
    method: 'POST',
    path: '/instances',
    summary: 'Create a push instance. The response shows its secrets.',
    body: newInstanceBody,
    status: 201,
    answer: shownInstance,
    refusals: ['conflict'],
    logLine: { message: 'Instance created', subject: 'instance' },
    act: async ({ instances }, { body }) => {
      const { id, secretKeys, name, ...settings } = body;
      const created = await instances.create({ id, secretKeys, name, settings });
      return showInstance(await instances.get(created), true);
    },
  }),
  operation({
    ...onTenant(shownInstance),
    id: 'getInstance',
    role: 'viewer',
    method: 'GET',
    path: '/instances/{id}',
    summary: 'Show one push instance.',
    query: secretsQuery,
    act: async ({ instances }, { instanceId, query }) =>
      showInstance(await instances.get(instanceId()), query.secrets === 'true'),
  }),
  operation({
    ...onTenant(changedTenant(shownInstance).meta({ id: 'ChangedInstance' })),
    id: 'changeInstance',
    role: 'admin',
    method: 'PATCH',
    path: '/instances/{id}',
    summary:
      'Change the given settings of a push instance, and keep the others. `limits`, and settings that name files or hosts, take a role for the whole server.',
    query: changeQuery,
    body: instanceChange,
    logLine: { message: 'Instance changed', subject: 'instance' },
    act: async ({ instances }, { instanceId, query, body, rights }) => {
      const { name, ...settings } = body;
      const [id, change] = [instanceId(), { name, settings }];
      const present = (await instances.get(id)).tenant;
      refuseOperatorsSettings(settings, { present, rights });
      refuseOwnBounds({ limits: settings.limits }, { present, rights });
      if (isDryRun(query)) {
        const before = await instances.get(id);
        return showTried([before, await instances.tryUpdate(id, change)], showInstance);
      }
      await instances.update(id, change);
      return showInstance(await instances.get(id), false);
    },
  }),
  operation({
    ...onTenant(
      z.strictObject({
        id: z.string(),
        deleted: z.literal(true),
        devices: z.int().min(0).describe('How many devices were deleted with it.'),
      }),
    ),
    id: 'deleteInstance',
    role: 'admin',
    method: 'DELETE',
    path: '/instances/{id}',
    summary:
      'Delete a push instance with its keys, devices, publishes and webhook log, and the push rules of apps that name it.',
    logLine: { message: 'Instance deleted', subject: 'instance' },
    act: async ({ instances }, { instanceId }) => {
      const id = instanceId();
      return { id, deleted: true as const, devices: await instances.delete(id) };
    },
  }),
  operation({
    ...onTenant(z.strictObject({ secretKey: z.string() })),
    id: 'addSecretKey',
    role: 'admin',
    method: 'POST',
    path: '/instances/{id}/keys',
    summary: 'Add a secret key to a push instance. The other keys stay valid.',
    status: 201,
    logLine: { message: 'Secret key added', subject: 'instance' },
    act: async ({ instances }, { instanceId }) => ({
      secretKey: await instances.addKey(instanceId()),
    }),
  }),
  operation({
    ...onTenant(shownInstance),
    id: 'removeSecretKey',
    role: 'admin',
    method: 'DELETE',
    path: '/instances/{id}/keys/{key}',
    summary:
      'Remove a secret key from a push instance. The first 8 characters of the key are enough. The last key cannot be removed.',
    logLine: { message: 'Secret key removed', subject: 'instance' },
    act: async ({ instances }, { path, instanceId }) => {
      await instances.removeKey(instanceId(), path('key'));
      return showInstance(await instances.get(instanceId()), false);
    },
  }),
];
