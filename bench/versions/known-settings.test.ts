import { expect, it } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { knownSettings } from './known-settings.ts';

const page = `
| setting | type |
|---|---|
| \`channels.port\` | whole number |
| \`channels.apps\` | list of objects |
| \`channels.apps[].id\` | text |
| \`channels.apps[].limits.connections\` | whole number |
| \`trustedProxies\` | list of texts |
`;

it('leaves out settings, groups and settings of entries that a version does not know', () => {
  const config = {
    channels: {
      port: 1,
      portable: true,
      apps: [{ id: 'a', history: [{ seconds: 1 }], limits: { connections: 1, bytes: 2 } }],
    },
    realtime: { threads: 1 },
    trustedProxies: ['::1'],
  };

  expect(knownSettings(config, page)).toEqual({
    settings: {
      channels: { port: 1, apps: [{ id: 'a', limits: { connections: 1 } }] },
      trustedProxies: ['::1'],
    },
    leftOut: [
      'channels.portable',
      'channels.apps[].history',
      'channels.apps[].limits.bytes',
      'realtime',
    ],
  });
});

it('finds the settings of this version in its documentation', () => {
  const own = readFileSync(join(import.meta.dir, '../../docs/reference/settings.md'), 'utf8');
  const config = {
    channels: {
      framesPerSecond: 0,
      addressLimits: { connectionsPerSecond: 0 },
      apps: [{ id: '1', keys: [{ key: 'k', secret: 's' }], history: [{ channels: '*' }] }],
    },
    realtime: { threads: 1 },
    store: { url: 'sqlite:x' },
  };

  expect(knownSettings(config, own)).toEqual({ settings: config, leftOut: [] });
});
