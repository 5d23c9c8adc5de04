import { expect, it } from 'bun:test';
import { printSettings, settingRows } from './settings-table.ts';

const rowAt = (path: string) => settingRows().find((row) => row.path === path);

it('describes a setting as the schema has it', () => {
  expect(rowAt('channels.activityTimeoutSeconds')).toEqual({
    path: 'channels.activityTimeoutSeconds',
    type: 'whole number, 1 to 86400',
    default: '`120`',
    environment: 'FANFARE_CHANNELS_ACTIVITY_TIMEOUT_SECONDS',
    secretFile: undefined,
    description:
      'Seconds without a message of the client after which the server pings it: by a ping of the WebSocket protocol, or over HTTP by an event.',
  });
  expect(rowAt('drainSeconds')?.environment).toBe('FANFARE_DRAIN_SECONDS');
  expect(rowAt('tls.keyFile')).toMatchObject({ type: 'text or null', default: '`null`' });
  expect(rowAt('engine.type')).toMatchObject({
    type: '`memory` or `redis`',
    default: '`"memory"`',
  });
  expect(rowAt('engine.url')).toMatchObject({ default: 'none', environment: 'FANFARE_ENGINE_URL' });
  expect(rowAt('channels.apps')).toMatchObject({ type: 'list of objects', default: 'none' });
  expect(rowAt('push.instances[].apns')).toMatchObject({ type: 'object', default: 'none' });
  expect(rowAt('channels.apps[].keys[].secret')).toMatchObject({ default: 'required' });
});

it('gives a variable that names a file to every setting that may hold a secret, and to no other', () => {
  const secret = settingRows().filter(
    ({ path, environment }) =>
      environment !== undefined && /(?:password|secret|token|\.urls?|outgoing\.proxy)$/i.test(path),
  );

  expect(settingRows().flatMap(({ secretFile }) => secretFile ?? [])).toEqual(
    secret.map(({ environment }) => `${environment}_FILE`),
  );
});

it('gives no variable to what is in a list', () => {
  const inLists = settingRows().filter((row) => row.path.includes('[]'));

  expect(inLists).not.toBeEmpty();
  expect(inLists.filter((row) => row.environment !== undefined)).toEqual([]);
});

it('gives every setting a description, and no variable twice', () => {
  const rows = settingRows();
  const variables = rows.flatMap((row) => row.environment ?? []);

  expect(rows.length).toBeGreaterThan(70);
  expect(rows.filter((row) => !/\.$|…$/.test(row.description))).toEqual([]);
  expect(new Set(variables).size).toBe(variables.length);
});

it('prints every setting once, below the heading it belongs to', () => {
  const text = printSettings();
  const cells = [...text.matchAll(/^\| `([^`]+)`/gm)].map((match) => match[1]);
  const headings = [...text.matchAll(/^## (.+)$/gm)].map((match) => match[1]);

  expect(cells).toEqual(settingRows().map((row) => row.path));
  expect(headings).toEqual([
    '`channels`',
    '`channels.apps[]`',
    '`realtime`',
    '`push`',
    '`push.instances[]`',
    '`admin`',
    '`admin.roles[]`',
    '`dashboard`',
    '`webhooks`',
    '`outgoing`',
    '`tls`',
    '`engine`',
    '`store`',
    '`log`',
    'The whole server',
    '`sources[]`',
  ]);
});
