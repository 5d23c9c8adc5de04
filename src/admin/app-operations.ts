import { z } from 'zod';
import { appChange, newApp, showApp, shownApp, shownPair } from './app-shapes.ts';
import { refuseForeignInstances } from './foreign-instances.ts';
import { type Operation, operation } from './operation.ts';
import { refuseOwnBounds } from './own-bounds.ts';
import { seesApp } from './rights.ts';
import {
  changedTenant,
  changeQuery,
  isDryRun,
  notServedList,
  onTenant,
  secretsQuery,
  showTried,
} from './tenant-shapes.ts';

/** The operations that manage apps. */
export const appOperations: readonly Operation[] = [
  operation({
    id: 'listApps',
    role: 'viewer',
    restricted: 'filtered',
    method: 'GET',
    path: '/apps',
    summary: 'List the apps. Apps of the configuration come first.',
    query: secretsQuery,
    answer: z.strictObject({
      apps: z.array(shownApp),
      notServed: notServedList('app'),
    }),
    act: async ({ apps }, { query, rights }) => {
      const { kept, notServed } = await apps.list();
      const withSecrets = query.secrets === 'true';
      const seen = kept.filter(({ tenant }) => seesApp(rights, tenant.id));
      return {
        apps: seen.map((app) => showApp(app, withSecrets)),
        notServed: notServed.filter(({ id }) => seesApp(rights, id)),
      };
    },
  }),
  operation({
    id: 'createApp',
    role: 'admin',
    method: 'POST',
    path: '/apps',
    summary: 'Create an app. The response shows its secret.',
    body: newApp,
    status: 201,
    answer: shownApp,
    refusals: ['conflict'],
    logLine: { message: 'App created', subject: 'app' },
    act: async ({ apps }, { body }) => {
      const { id, keys, name, enabled, ...settings } = body;
      const created = await apps.create({ id, keys, name, enabled, settings });
      return showApp(await apps.get(created), true);
    },
  }),
  operation({
    ...onTenant(shownApp),
    id: 'getApp',
    role: 'viewer',
    method: 'GET',
    path: '/apps/{id}',
    summary: 'Show one app.',
    query: secretsQuery,
    act: async ({ apps }, { path, query }) =>
      showApp(await apps.get(path('id')), query.secrets === 'true'),
  }),
  operation({
    ...onTenant(changedTenant(shownApp).meta({ id: 'ChangedApp' })),
    id: 'changeApp',
    role: 'admin',
    method: 'PATCH',
    path: '/apps/{id}',
    summary:
      'Change the given settings of an app, and keep the others. `limits`, `compressAboveBytes`, histories beyond the default size, and enabling a disabled app take a role for the whole server.',
    query: changeQuery,
    body: appChange,
    logLine: { message: 'App changed', subject: 'app' },
    act: async ({ apps }, { path, query, body, rights }) => {
      const { name, enabled, ...settings } = body;
      const [id, change] = [path('id'), { name, enabled, settings }];
      const present = (await apps.get(id)).tenant;
      refuseForeignInstances(settings.pushRules, { present: present.pushRules, rights });
      refuseOwnBounds(body, { present, rights });
      if (isDryRun(query)) {
        return showTried([await apps.get(id), await apps.tryUpdate(id, change)], showApp);
      }
      await apps.update(id, change);
      return showApp(await apps.get(id), false);
    },
  }),
  operation({
    ...onTenant(z.strictObject({ id: z.string(), deleted: z.literal(true) })),
    id: 'deleteApp',
    role: 'admin',
    method: 'DELETE',
    path: '/apps/{id}',
    summary:
      'Delete an app with its keys, usage, webhook log, cached events and histories, and the links of instances to it. Its connections are closed with 4003. Its id can be used again once every server has learned of that, which takes a second.',
    logLine: { message: 'App deleted', subject: 'app' },
    act: async ({ apps }, { path }) => {
      await apps.delete(path('id'));
      return { id: path('id'), deleted: true as const };
    },
  }),
  operation({
    ...onTenant(shownPair),
    id: 'addKey',
    role: 'admin',
    method: 'POST',
    path: '/apps/{id}/keys',
    summary: 'Add a key with its secret to an app. The other keys stay valid.',
    status: 201,
    logLine: { message: 'Key added', subject: 'app' },
    act: ({ apps }, { path }) => apps.addKey(path('id')),
  }),
  operation({
    ...onTenant(shownApp),
    id: 'removeKey',
    role: 'admin',
    method: 'DELETE',
    path: '/apps/{id}/keys/{key}',
    summary: 'Remove a key from an app. The last one cannot be removed.',
    logLine: { message: 'Key removed', subject: 'app' },
    act: async ({ apps }, { path }) => {
      await apps.removeKey(path('id'), path('key'));
      return showApp(await apps.get(path('id')), false);
    },
  }),
  operation({
    ...onTenant(shownApp),
    id: 'disableApp',
    role: 'admin',
    method: 'POST',
    path: '/apps/{id}/disable',
    summary: 'Disable an app. Its requests get 403, and its connections are closed with 4003.',
    logLine: { message: 'App disabled', subject: 'app' },
    act: async ({ apps }, { path }) => {
      await apps.setEnabled(path('id'), false);
      return showApp(await apps.get(path('id')), false);
    },
  }),
  operation({
    ...onTenant(shownApp),
    id: 'enableApp',
    role: 'admin',
    method: 'POST',
    path: '/apps/{id}/enable',
    summary: 'Enable a disabled app. This takes a role for the whole server.',
    logLine: { message: 'App enabled', subject: 'app' },
    act: async ({ apps }, { path, rights }) => {
      const { tenant: present } = await apps.get(path('id'));
      refuseOwnBounds({ enabled: true }, { present, rights });
      await apps.setEnabled(path('id'), true);
      return showApp(await apps.get(path('id')), false);
    },
  }),
];
