import { z } from 'zod';
import { secretKeyName } from '../../config/settings/secret-key-name.ts';
import { mergeUses, type UsedKey } from '../../runtime/keys/key-uses.ts';
import { servers } from '../channels/server-shapes.ts';
import { type Operation, operation } from '../operation.ts';
import { onTenant } from '../tenant-shapes.ts';

const time = z.int().min(0);

const sinceMs = time.describe(
  'Since when uses are known, in milliseconds since 1970: the latest start of a server that has answered.',
);

const lastUsedAtMs = time
  .optional()
  .describe('The latest use of any kind, in milliseconds since 1970; missing: none is known.');

const shownAppKey = z
  .strictObject({
    key: z.string(),
    lastUsedAtMs: lastUsedAtMs.describe(
      'The latest use of any kind, in milliseconds since 1970; now, if connections are open; missing: none is known.',
    ),
    lastRequestAtMs: time.optional().describe('Of a request to the HTTP API that it signed.'),
    lastSignatureAtMs: time
      .optional()
      .describe('Of a subscription or sign-in that its secret authorised.'),
    lastConnectionAtMs: time
      .optional()
      .describe('When a client last connected with it, or such a connection was closed.'),
    connections: z.int().min(0).describe('Open connections of clients that connected with it.'),
  })
  .meta({ id: 'UsedKey' });

const shownSecretKey = z
  .strictObject({
    key: z.string().describe('Its first 8 characters and `…`; a short key is just `…`.'),
    lastUsedAtMs,
    lastRequestAtMs: time.optional().describe('Of a request of a backend with it.'),
    lastSignatureAtMs: time.optional().describe('Of a Beams Token that it signed.'),
  })
  .meta({ id: 'UsedSecretKey' });

/** The operations that show whether keys are still in use, so that an old one can be removed. */
export const keyOperations: readonly Operation[] = [
  operation({
    ...onTenant(z.strictObject({ servers, sinceMs, keys: z.array(shownAppKey) })),
    id: 'listKeys',
    role: 'viewer',
    method: 'GET',
    path: '/apps/{id}/keys',
    summary:
      'List the keys of an app with their last uses on all servers, the oldest key first. Secrets are not shown.',
    act: async ({ apps, ask }, { path }) => {
      const { tenant: app } = await apps.get(path('id'));
      const tenant = { kind: 'app', id: app.id } as const;
      const { servers: asked, answer } = await ask.everywhere('key-uses', { tenant });
      const names = app.keys.map(({ key }) => key);
      return {
        servers: asked,
        sinceMs: answer.sinceMs,
        keys: usesOf(names, answer.keys).map(({ connections, ...used }) => ({
          ...timesOf(used),
          ...(connections > 0 && { lastUsedAtMs: Date.now() }),
          lastConnectionAtMs: used.lastAtMs.connection,
          connections,
        })),
      };
    },
  }),
  operation({
    ...onTenant(z.strictObject({ servers, sinceMs, keys: z.array(shownSecretKey) })),
    id: 'listSecretKeys',
    role: 'viewer',
    method: 'GET',
    path: '/instances/{id}/keys',
    summary:
      'List the secret keys of a push instance by their names, with their last uses on all servers, the oldest key first.',
    act: async ({ instances, ask }, { instanceId }) => {
      const { tenant: instance } = await instances.get(instanceId());
      const tenant = { kind: 'instance', id: instance.id } as const;
      const { servers: asked, answer } = await ask.everywhere('key-uses', { tenant });
      const names = instance.secretKeys.map(secretKeyName);
      return {
        servers: asked,
        sinceMs: answer.sinceMs,
        keys: usesOf(names, answer.keys).map(timesOf),
      };
    },
  }),
];

/** The keys that a tenant has, with what is known of each. A server may not have learned of a change yet. */
function usesOf(names: readonly string[], known: readonly UsedKey[]): readonly UsedKey[] {
  const unused = names.map((key) => ({ key, lastAtMs: {}, connections: 0 }));
  return mergeUses([unused, known]).slice(0, names.length);
}

function timesOf({ key, lastAtMs }: Pick<UsedKey, 'key' | 'lastAtMs'>) {
  const times = Object.values(lastAtMs);
  return {
    key,
    lastUsedAtMs: times.length === 0 ? undefined : Math.max(...times),
    lastRequestAtMs: lastAtMs.request,
    lastSignatureAtMs: lastAtMs.signature,
  };
}
