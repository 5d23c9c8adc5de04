import { expect, it } from 'bun:test';
import { settingsForRestart } from './changed-settings.ts';
import { app, configIn, loadJson } from './loading.fixture.ts';

const config = (content: object) => configIn(loadJson(content));
const changed = (before: object, after: object) =>
  settingsForRestart(config(before), config(after));

it.each([
  [{}, {}, []],
  [{}, { channels: { apps: [app] }, push: { instances: [], tokenLeewaySeconds: 1 } }, []],
  [{}, { channels: { port: 1 }, drainSeconds: 1 }, ['channels.port', 'drainSeconds']],
  [
    { outgoing: { proxy: 'http://u:old@p:1' } },
    { outgoing: { proxy: 'http://u:new@p:1' } },
    ['outgoing.proxy'],
  ],
  [{ store: { url: 'postgres://u:old@h/d' } }, { store: { url: 'postgres://v:new@h/d' } }, []],
  [
    { store: { url: 'postgres://u:old@h/d' } },
    { store: { url: 'postgres://u:old@h/e' } },
    ['store.url'],
  ],
  [
    { engine: { type: 'redis', urls: ['redis://a', 'redis://:old@b/1'] } },
    { engine: { type: 'redis', urls: ['redis://:new@a', 'redis://:new@b/1'] } },
    [],
  ],
  [
    { engine: { type: 'redis', urls: ['redis://:old@a', 'redis://:old@b'] } },
    { engine: { type: 'redis', urls: ['redis://:old@a'] } },
    ['engine.urls'],
  ],
  [
    { engine: { type: 'redis', url: 'redis+sentinel://:old@a/m', sentinels: { password: 'old' } } },
    { engine: { type: 'redis', url: 'redis+sentinel://:old@b/m', sentinels: { password: 'new' } } },
    ['engine.url'],
  ],
  [{ trustedProxies: ['::1'] }, { trustedProxies: ['::2'] }, ['trustedProxies']],
  [
    {},
    { engine: { type: 'redis', url: 'redis://u:secret@h' } },
    ['engine.type', 'engine.url', 'engine.keyPrefix', 'engine.tls', 'engine.sentinels'],
  ],
  [
    { admin: { roles: [{ group: 'a', role: 'admin' }] } },
    { admin: { roles: [{ group: 'a', role: 'viewer' }] } },
    ['admin.roles'],
  ],
  [{}, { admin: { proxy: { trust: ['::1'], userHeader: 'Remote-User' } } }, ['admin.proxy']],
  [
    { admin: { proxy: { trust: ['::1'], userHeader: 'Remote-User' } } },
    { admin: { proxy: { trust: ['::1'], userHeader: 'X-User' } } },
    ['admin.proxy.userHeader'],
  ],
])('a change of %j to %j needs a restart for %j', (before, after, settings) => {
  expect(changed(before, after)).toEqual(settings);
});
