import { z } from 'zod';
import { instanceChange, newInstanceBody, showInstance, shownInstance } from './instance-shapes.ts';
import { NO_BODY, NO_QUERY, type Operation, operation } from './operation.ts';
import { yesNo } from './query-kinds.ts';

const secrets = z.strictObject({ secrets: yesNo('Whether to show secrets too.') });

/** What manages the push instances. */
export const instanceOperations: readonly Operation[] = [
  operation({
    id: 'listInstances',
    method: 'GET',
    path: '/instances',
    summary: 'List the push instances, those of the configuration first.',
    query: secrets,
    body: NO_BODY,
    status: 200,
    answer: z.strictObject({
      instances: z.array(shownInstance),
      notServed: z
        .array(z.strictObject({ id: z.string(), why: z.string() }))
        .describe('Stored instances that cannot be served.'),
    }),
    refusals: [],
    act: async ({ instances }, { query }) => {
      const { kept, notServed } = await instances.list();
      const withSecrets = query.secrets === 'true';
      return { instances: kept.map((one) => showInstance(one, withSecrets)), notServed };
    },
  }),
  operation({
    id: 'createInstance',
    method: 'POST',
    path: '/instances',
    summary: 'Make a push instance, and show its secrets.',
    query: NO_QUERY,
    body: newInstanceBody,
    status: 201,
    answer: shownInstance,
    refusals: ['conflict'],
    logLine: { message: 'Instance created', subject: 'instance' },
    act: async ({ instances }, { body }) => {
      const { id, secretKeys, name, ...settings } = body;
      return showInstance(await instances.create({ id, secretKeys, name, settings }), true);
    },
  }),
  operation({
    id: 'getInstance',
    method: 'GET',
    path: '/instances/{id}',
    summary: 'Show one push instance.',
    query: secrets,
    body: NO_BODY,
    status: 200,
    answer: shownInstance,
    refusals: ['not-found', 'conflict'],
    act: async ({ instances }, { path, query }) =>
      showInstance(await instances.get(instanceId(path)), query.secrets === 'true'),
  }),
  operation({
    id: 'changeInstance',
    method: 'PATCH',
    path: '/instances/{id}',
    summary: 'Change what is named of a push instance, and leave the rest.',
    query: NO_QUERY,
    body: instanceChange,
    status: 200,
    answer: shownInstance,
    refusals: ['not-found', 'conflict'],
    logLine: { message: 'Instance changed', subject: 'instance' },
    act: async ({ instances }, { path, body }) => {
      const { name, ...settings } = body;
      return showInstance(await instances.update(instanceId(path), { name, settings }), false);
    },
  }),
  operation({
    id: 'deleteInstance',
    method: 'DELETE',
    path: '/instances/{id}',
    summary: 'Delete a push instance with its keys, devices and publishes.',
    query: NO_QUERY,
    body: NO_BODY,
    status: 200,
    answer: z.strictObject({
      id: z.string(),
      deleted: z.literal(true),
      devices: z.int().min(0).describe('How many devices are gone with it.'),
    }),
    refusals: ['not-found', 'conflict'],
    logLine: { message: 'Instance deleted', subject: 'instance' },
    act: async ({ instances }, { path }) => {
      const id = instanceId(path);
      return { id, deleted: true as const, devices: await instances.delete(id) };
    },
  }),
  operation({
    id: 'addSecretKey',
    method: 'POST',
    path: '/instances/{id}/keys',
    summary: 'Give a push instance one more secret key; those it has stay valid.',
    query: NO_QUERY,
    body: NO_BODY,
    status: 201,
    answer: z.strictObject({ secretKey: z.string() }),
    refusals: ['not-found', 'conflict'],
    logLine: { message: 'Secret key added', subject: 'instance' },
    act: async ({ instances }, { path }) => ({
      secretKey: await instances.addKey(instanceId(path)),
    }),
  }),
  operation({
    id: 'removeSecretKey',
    method: 'DELETE',
    path: '/instances/{id}/keys/{key}',
    summary:
      'Take a secret key away from a push instance; the last one stays. The first 8 characters of the key are enough.',
    query: NO_QUERY,
    body: NO_BODY,
    status: 200,
    answer: shownInstance,
    refusals: ['not-found', 'conflict'],
    logLine: { message: 'Secret key removed', subject: 'instance' },
    act: async ({ instances }, { path }) =>
      showInstance(await instances.removeKey(instanceId(path), path('key')), false),
  }),
];

/** Ids are compared in lower case. */
function instanceId(path: (name: string) => string): string {
  return path('id').toLowerCase();
}
