import { describe, expect, it } from 'bun:test';
import { configIn, load, loadJson, problemsIn } from '../loading.fixture.ts';

const APP = { FANFARE_APP_ID: '1', FANFARE_APP_KEY: 'app-key', FANFARE_APP_SECRET: 'app-secret' };
const instance = { id: '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c', secretKeys: ['s'] };

describe('a key, secret or password', () => {
  it.each([
    ['app-secret\n', 'ends in "\\n"'],
    ['app-secret\r', 'ends in "\\r"'],
    ['app-secret\r\n', 'ends in "\\r\\n"'],
    [' app-secret', 'begins with " "'],
    ['app-secret\u00a0', 'ends in "\\u00a0"'],
    ['\ufeffapp-secret', 'begins with "\\ufeff"'],
    ['app\tsecret', 'contains "\\t"'],
    [`app-secret${' '.repeat(99)}`, 'ends in "        "…'],
  ])('with characters that nobody sees is refused, and they are shown: %j', (secret, fault) => {
    const rule = `${fault}, which nobody sees: remove it`;
    expect(problemsIn(load({}, { ...APP, FANFARE_APP_SECRET: secret }))).toEqual([
      `FANFARE_APP_SECRET (channels.apps[0].keys[0].secret): ${rule}`,
    ]);
  });

  it('is examined wherever the file has one', () => {
    const app = { id: 'a', keys: [{ key: 'k ', secret: ' s' }] };
    const webhooks = [{ url: 'https://a.example', events: ['v1.UserNotificationOpen'] }];
    const problems = problemsIn(
      loadJson({
        channels: { apps: [app] },
        push: {
          instances: [
            {
              ...instance,
              secretKeys: ['s', 't\n'],
              webhooks: webhooks.map((webhook) => ({ ...webhook, secret: 'w\n' })),
            },
          ],
        },
        admin: { password: 'p\n' },
      }),
    );
    expect(problems.map((problem) => problem.split(':')[0])).toEqual([
      'channels.apps[0].keys[0].key',
      'channels.apps[0].keys[0].secret',
      'push.instances[0].secretKeys[1]',
      'push.instances[0].webhooks[0].secret',
      'admin.password',
    ]);
    const yaml =
      'channels:\n  apps:\n    - id: 1\n      keys:\n        - key: k\n          secret: |\n            hidden\n';
    expect(problemsIn(load({ 'fanfare.yaml': yaml }))).toEqual([
      'channels.apps[0].keys[0].secret: ends in "\\n", which nobody sees: remove it',
    ]);
  });

  it('is also examined as a part of an address', () => {
    const environment = {
      FANFARE_ENGINE_TYPE: 'redis',
      FANFARE_ENGINE_URL: 'redis://cache\n',
      FANFARE_STORE_URL: 'postgres://u:p@db.example/x\r\n',
    };
    expect(problemsIn(load({}, environment))).toEqual([
      'FANFARE_ENGINE_URL (engine.url): ends in "\\n", which nobody sees: remove it',
      'FANFARE_STORE_URL (store.url): ends in "\\r\\n", which nobody sees: remove it',
    ]);
  });

  it('may have spaces, quotes and any letters inside', () => {
    const secret = 'mein geheimes "Wort" 🎺';
    const loaded = load({}, { ...APP, FANFARE_APP_SECRET: secret });
    expect(configIn(loaded).channels.apps?.[0]?.keys[0]?.secret).toBe(secret);
    expect(loaded).toMatchObject({ warnings: [] });
  });

  it('with quotes around it is accepted, with a warning that does not repeat it', () => {
    for (const secret of ['"hunter2"', "'hunter2'"]) {
      const loaded = load({}, { ...APP, FANFARE_APP_SECRET: secret });
      expect(configIn(loaded).channels.apps?.[0]?.keys[0]?.secret).toBe(secret);
      expect(loaded).toMatchObject({
        warnings: [
          {
            path: 'FANFARE_APP_SECRET (channels.apps[0].keys[0].secret)',
            message:
              'has quotes around its value, which are part of it; remove them if they are not',
          },
        ],
      });
    }
  });
});
