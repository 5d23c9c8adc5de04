import { z } from 'zod';
import { appChange, newApp, showApp, shownApp, shownPair } from './app-shapes.ts';
import { NO_BODY, NO_QUERY, type Operation, operation } from './operation.ts';
import { yesNo } from './query-kinds.ts';

const secrets = z.strictObject({ secrets: yesNo('Whether to show secrets too.') });

/** What manages the apps. */
export const appOperations: readonly Operation[] = [
  operation({
    id: 'listApps',
    method: 'GET',
    path: '/apps',
    summary: 'List the apps, those of the configuration first.',
    query: secrets,
    body: NO_BODY,
    status: 200,
    answer: z.strictObject({
      apps: z.array(shownApp),
      notServed: z
        .array(z.strictObject({ id: z.string(), why: z.string() }))
        .describe('Stored apps that cannot be served.'),
    }),
    refusals: [],
    act: async ({ apps }, { query }) => {
      const { kept, notServed } = await apps.list();
      return { apps: kept.map((app) => showApp(app, query.secrets === 'true')), notServed };
    },
  }),
  operation({
    id: 'createApp',
    method: 'POST',
    path: '/apps',
    summary: 'Make an app, and show its secret.',
    query: NO_QUERY,
    body: newApp,
    status: 201,
    answer: shownApp,
    refusals: ['conflict'],
    logLine: { message: 'App created', subject: 'app' },
    act: async ({ apps }, { body }) => {
      const { id, keys, name, enabled, ...settings } = body;
      return showApp(await apps.create({ id, keys, name, enabled, settings }), true);
    },
  }),
  operation({
    id: 'getApp',
    method: 'GET',
    path: '/apps/{id}',
    summary: 'Show one app.',
    query: secrets,
    body: NO_BODY,
    status: 200,
    answer: shownApp,
    refusals: ['not-found', 'conflict'],
    act: async ({ apps }, { path, query }) =>
      showApp(await apps.get(path('id')), query.secrets === 'true'),
  }),
  operation({
    id: 'changeApp',
    method: 'PATCH',
    path: '/apps/{id}',
    summary: 'Change what is named of an app, and leave the rest.',
    query: NO_QUERY,
    body: appChange,
    status: 200,
    answer: shownApp,
    refusals: ['not-found', 'conflict'],
    logLine: { message: 'App changed', subject: 'app' },
    act: async ({ apps }, { path, body }) => {
      const { name, enabled, ...settings } = body;
      return showApp(await apps.update(path('id'), { name, enabled, settings }), false);
    },
  }),
  operation({
    id: 'deleteApp',
    method: 'DELETE',
    path: '/apps/{id}',
    summary: 'Delete an app with its keys; its connections are closed with 4003.',
    query: NO_QUERY,
    body: NO_BODY,
    status: 200,
    answer: z.strictObject({ id: z.string(), deleted: z.literal(true) }),
    refusals: ['not-found', 'conflict'],
    logLine: { message: 'App deleted', subject: 'app' },
    act: async ({ apps }, { path }) => {
      await apps.delete(path('id'));
      return { id: path('id'), deleted: true as const };
    },
  }),
  operation({
    id: 'addKey',
    method: 'POST',
    path: '/apps/{id}/keys',
    summary: 'Give an app one more pair of key and secret; those it has stay valid.',
    query: NO_QUERY,
    body: NO_BODY,
    status: 201,
    answer: shownPair,
    refusals: ['not-found', 'conflict'],
    logLine: { message: 'Key added', subject: 'app' },
    act: ({ apps }, { path }) => apps.addKey(path('id')),
  }),
  operation({
    id: 'removeKey',
    method: 'DELETE',
    path: '/apps/{id}/keys/{key}',
    summary: 'Take a pair away from an app; the last one stays.',
    query: NO_QUERY,
    body: NO_BODY,
    status: 200,
    answer: shownApp,
    refusals: ['not-found', 'conflict'],
    logLine: { message: 'Key removed', subject: 'app' },
    act: async ({ apps }, { path }) =>
      showApp(await apps.removeKey(path('id'), path('key')), false),
  }),
  enabling('disableApp', 'disable', false, 'its requests get 403, its connections 4003.'),
  enabling('enableApp', 'enable', true, 'it is served again.'),
];

function enabling(id: string, word: string, enabled: boolean, effect: string): Operation {
  return operation({
    id,
    method: 'POST',
    path: `/apps/{id}/${word}`,
    summary: `${word[0]?.toUpperCase()}${word.slice(1)} an app: ${effect}`,
    query: NO_QUERY,
    body: NO_BODY,
    status: 200,
    answer: shownApp,
    refusals: ['not-found', 'conflict'],
    logLine: { message: `App ${word}d`, subject: 'app' },
    act: async ({ apps }, { path }) => showApp(await apps.setEnabled(path('id'), enabled), false),
  });
}
