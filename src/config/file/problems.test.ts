import { describe, expect, it } from 'bun:test';
import { app, instance, load, loadJson, problemsIn, vapid } from '../loading.fixture.ts';

/** A configuration with an instance whose web gateway has these keys. */
function withVapid(keys: object) {
  return { push: { instances: [{ ...instance, web: { vapid: { ...vapid, ...keys } } }] } };
}

const acme = { domains: ['push.example.com'], email: 'you@example.com' };
const DOMAIN_RULE =
  'must be a name in lower case such as push.example.com, without * and no IP address';
const acmeProblems: readonly (readonly [unknown, string])[] = [
  ...['10.0.0.1', '*.example.com', 'localhost', 'a..b', '-a.example', 'a b.example'].map(
    (domain) =>
      [
        { tls: { acme: { ...acme, domains: [domain] } } },
        `tls.acme.domains[0]: ${DOMAIN_RULE}`,
      ] as const,
  ),
  [{ tls: { acme: { ...acme, domains: [] } } }, 'tls.acme.domains: must have at least one entry'],
  [
    { tls: { acme: { ...acme, domains: Array.from({ length: 21 }, (_, n) => `a${n}.example`) } } },
    'tls.acme.domains: must have at most 20 entries',
  ],
  [
    { tls: { acme: { ...acme, email: 'you, and me' } } },
    'tls.acme.email: must be one e-mail address',
  ],
  [
    { tls: { acme: { ...acme, directory: 'http://authority.test' } } },
    'tls.acme.directory: must be an https URL',
  ],
  [
    { tls: { acme, certFile: 'c.pem', keyFile: 'k.pem' } },
    'tls.acme: cannot be set together with tls.certFile',
  ],
];

const loadValues = (appendBytes: number, sendBufferBytes?: number) =>
  loadJson({ channels: { sendBufferBytes, apps: [{ ...app, limits: { appendBytes } }] } });
const TOO_LARGE =
  'channels.apps[0].limits.appendBytes: must be at most a quarter of channels.sendBufferBytes,';

describe('problems', () => {
  it('are all reported at once, each with its path', () => {
    const loaded = loadJson(
      {
        channels: { port: 70000, hots: 'x', apps: [{ id: 'a', keys: [{ key: 'k' }] }, app] },
        push: { instances: [{ ...instance, id: 'demo' }] },
        tls: { certFile: 'c.pem' },
        drainSeconds: '10',
      },
      { FANFARE_LOG_LEVEL: 'loud', FANFARE_LOG_LEVLE: 'info' },
    );

    expect(problemsIn(loaded).toSorted()).toEqual([
      'FANFARE_LOG_LEVEL (log.level): must be one of "debug", "info", "warn", "error", got "loud"',
      'FANFARE_LOG_LEVLE: unknown setting, did you mean "FANFARE_LOG_LEVEL"?',
      'channels.apps[0].keys[0].secret: required',
      'channels.apps[1].id: is already the id of channels.apps[0]',
      'channels.apps[1].keys[0].key: is already the key of channels.apps[0].keys[0]',
      'channels.hots: unknown setting, did you mean "host"?',
      'channels.port: must be between 0 and 65535, got 70000',
      'drainSeconds: must be a number, got a string',
      'push.instances[0].id: must be a UUID such as 6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c',
      'tls.keyFile: required if tls.certFile is set',
    ]);
  });

  // Each rule of the schema once, as the content of the file and the reported problem.
  const refused: readonly (readonly [unknown, string])[] = [
    [null, 'must be an object, got null'],
    [{ channels: null }, 'channels: must be an object, got null'],
    [{ channels: { host: '' } }, 'channels.host: must not be empty'],
    [{ channels: { host: true } }, 'channels.host: must be a string, got true'],
    [{ channels: { port: -1 } }, 'channels.port: must be between 0 and 65535, got -1'],
    [{ channels: { port: 1.5 } }, 'channels.port: must be a whole number, got 1.5'],
    [{ channels: { port: 1e300 } }, 'channels.port: must be between 0 and 65535, got 1e+300'],
    [{ channels: { port: [] } }, 'channels.port: must be a number, got a list'],
    [{ channels: { apps: {} } }, 'channels.apps: must be a list, got an object'],
    [
      { channels: { activityTimeoutSeconds: 0 } },
      'channels.activityTimeoutSeconds: must be between 1 and 86400, got 0',
    ],
    [
      { channels: { clientFrameBytes: 0 } },
      'channels.clientFrameBytes: must be between 1 and 1073741824, got 0',
    ],
    ...['x', '/', '/x/', '//x', '/x?'].map(
      (pathPrefix) =>
        [
          { channels: { pathPrefix } },
          "channels.pathPrefix: must be empty, or begin with '/' and not end with it",
        ] as const,
    ),
    [{ channels: { apps: [{ id: 'a' }] } }, 'channels.apps[0].keys: required'],
    [
      { channels: { apps: [{ ...app, keys: [] }] } },
      'channels.apps[0].keys: must have at least one entry',
    ],
    [
      { channels: { apps: [{ ...app, keys: [{ key: '', secret: 's' }] }] } },
      'channels.apps[0].keys[0].key: must not be empty',
    ],
    ...['', 'a b', 'a'.repeat(101), -0.5].map(
      (id) =>
        [
          { channels: { apps: [{ ...app, id }] } },
          typeof id === 'number'
            ? 'channels.apps[0].id: must be a string, got a number'
            : 'channels.apps[0].id: must be 1 to 100 of the characters A-Z a-z 0-9 _ -',
        ] as const,
    ),
    [
      { channels: { apps: [{ ...app, webhooks: [{ url: 'ftp://x', events: ['cache_miss'] }] }] } },
      'channels.apps[0].webhooks[0].url: must be an http or https URL',
    ],
    [
      { channels: { apps: [{ ...app, webhooks: [{ url: 'http://x', events: [] }] }] } },
      'channels.apps[0].webhooks[0].events: must have at least one entry',
    ],
    [
      { channels: { apps: [{ ...app, webhooks: [{ url: 'http://x', events: ['vacated'] }] }] } },
      'channels.apps[0].webhooks[0].events[0]: must be one of "channel_occupied", "channel_vacated", "member_added", "member_removed", "client_event", "cache_miss", "subscription_count", "user_online", "user_offline", got "vacated"',
    ],
    [
      { log: { level: 3 } },
      'log.level: must be one of "debug", "info", "warn", "error", got a number',
    ],
    [{ log: { format: 'xml' } }, 'log.format: must be one of "auto", "json", "text", got "xml"'],
    [
      { webhooks: { allowPrivateAddresses: 'yes' } },
      'webhooks.allowPrivateAddresses: must be true or false, got a string',
    ],
    [
      { webhooks: { timeoutSeconds: 0 } },
      'webhooks.timeoutSeconds: must be between 1 and 86400, got 0',
    ],
    [{ admin: { password: 5 } }, 'admin.password: must be a string, got a number'],
    [{ admin: { password: '' } }, 'admin.password: must not be empty'],
    [{ admin: { password: 'a\0b' } }, 'admin.password: must not contain U+0000'],
    [{ tls: { keyFile: 'k.pem' } }, 'tls.certFile: required if tls.keyFile is set'],
    ...acmeProblems,
    [{ engine: { type: 'kafka' } }, 'engine.type: must be one of "memory", "redis", got "kafka"'],
    [{ engine: { type: 7 } }, 'engine.type: must be one of "memory", "redis", got a number'],
    [
      { engine: { type: 'redis' } },
      'engine.url: required, or engine.urls for several Redis servers',
    ],
    [
      { engine: { type: 'redis', url: 'redis://a', urls: ['redis://a'] } },
      'engine.urls: cannot be set together with engine.url',
    ],
    [{ engine: { type: 'redis', urls: [] } }, 'engine.urls: must have at least one entry'],
    [
      { engine: { type: 'redis', urls: Array.from({ length: 65 }, (_, n) => `redis://${n}`) } },
      'engine.urls: must have at most 64 entries',
    ],
    [
      { engine: { type: 'redis', urls: ['redis://a', 'redis://b', 'redis://a'] } },
      'engine.urls[2]: is the same as engine.urls[0]',
    ],
    [
      { engine: { type: 'redis', urls: ['redis://a', 'http://b'] } },
      'engine.urls[1]: must begin with redis://, rediss://, redis+sentinel://, rediss+sentinel://, redis+cluster:// or rediss+cluster://',
    ],
    [
      { engine: { type: 'redis', url: 'http://x' } },
      'engine.url: must begin with redis://, rediss://, redis+sentinel://, rediss+sentinel://, redis+cluster:// or rediss+cluster://',
    ],
    [{ engine: { url: 'redis://x' } }, 'engine.url: unknown setting when engine.type is "memory"'],
    [
      { engine: { tpye: 'redis' } },
      'engine.tpye: unknown setting when engine.type is "memory", did you mean "type"?',
    ],
    [
      { store: { url: 'mysql://x' } },
      'store.url: must be sqlite:PATH or begin with postgres:// or postgresql://',
    ],
    [
      { store: { url: 'sqlite:' } },
      'store.url: must be sqlite:PATH or begin with postgres:// or postgresql://',
    ],
    ...[
      'file:data/a.db',
      'file:///data/a.db',
      '//file:a.db',
      'sqlite:a.db',
      ' a.db',
      'a.db\u00a0',
      'a.db?mode=ro',
      'a\n.db',
      'data/',
      '//',
    ].map((path): [object, string] => [
      { store: { url: `sqlite:${path}` } },
      'store.url: must be sqlite:PATH of one file, without a scheme such as file:, question marks, control characters, and white space or a slash at either end',
    ]),
    [
      { push: { instances: [instance, { ...instance, id: instance.id.toUpperCase() }] } },
      'push.instances[1].id: is already the id of push.instances[0]',
    ],
    [
      { push: { instances: [{ ...instance, secretKeys: [] }] } },
      'push.instances[0].secretKeys: must have at least one entry',
    ],
    [
      {
        push: {
          instances: [{ ...instance, fcm: { serviceAccountFile: 'f', origin: 'http://x/y' } }],
        },
      },
      'push.instances[0].fcm.origin: must be an origin such as https://push.example.org',
    ],
    [{ push: { instances: [{ ...instance, web: {} }] } }, 'push.instances[0].web.vapid: required'],
    [
      { push: { instances: [{ ...instance, secretKeys: ['a', 'b', 'a'] }] } },
      'push.instances[0].secretKeys[2]: is the same as push.instances[0].secretKeys[0]',
    ],
    [
      { push: { instances: [{ ...instance, whenUserIsFull: 'evict' }] } },
      'push.instances[0].whenUserIsFull: must be one of "refuse", "replace-oldest", got "evict"',
    ],
    [
      { push: { publicUrl: 'https://push.example.org/sdk' } },
      'push.publicUrl: must be an origin such as https://push.example.org',
    ],
    [
      { push: { tokenIssuers: ['https://push.example.org'] } },
      'push.tokenIssuers[0]: must be a host such as push.example.org',
    ],
    [
      { push: { tokenLeewaySeconds: 86_401 } },
      'push.tokenLeewaySeconds: must be between 0 and 86400, got 86401',
    ],
    // Not base64, another length, a compressed point, a private key in its place.
    ...['p', vapid.publicKey.slice(1), `A${vapid.publicKey.slice(1)}`, vapid.privateKey].map(
      (publicKey) =>
        [
          withVapid({ publicKey }),
          'push.instances[0].web.vapid.publicKey: must be 65 bytes of P-256 in URL-safe base64',
        ] as const,
    ),
    // Not base64, another length, and numbers that are no private key of the curve.
    ...['', '!'.repeat(43), vapid.privateKey.slice(4), 'A'.repeat(43), `${'_'.repeat(42)}8`].map(
      (privateKey) =>
        [
          withVapid({ privateKey }),
          'push.instances[0].web.vapid.privateKey: must be a P-256 private key: base64url, PEM or DER',
        ] as const,
    ),
    // The key of another pair.
    [
      withVapid({ privateKey: 'BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwg' }),
      'push.instances[0].web.vapid: publicKey and privateKey do not belong together',
    ],
    [
      { channels: { apps: [{ ...app, keys: [app.keys[0], app.keys[0]] }] } },
      'channels.apps[0].keys[1].key: is already the key of channels.apps[0].keys[0]',
    ],
    [
      {
        channels: {
          apps: [
            { ...app, id: '1' },
            { id: 1, keys: [{ key: 'l', secret: 's' }] },
          ],
        },
      },
      'channels.apps[1].id: is already the id of channels.apps[0]',
    ],
    [{ 'a b\n': 1 }, '["a b\\n"]: unknown setting'],
    [{ unlike: 1 }, 'unlike: unknown setting'],
    [
      { store: { url: 'postgres://u:p@ss/word@db.example/x' } },
      'store.url: must be a valid address; in a user or a password, characters such as / ? # @ : % must be percent-encoded (%2F %3F %23 %40 %3A %25)',
    ],
    [
      { sources: [{ url: 'mysql://db/shop', app: '1' }] },
      'sources[0].url: must begin with postgres:// or postgresql://',
    ],
    [
      { sources: [{ url: 'postgres://u:p@ss/word@db/shop', app: '1' }] },
      'sources[0].url: must be a valid address; in a user or a password, characters such as / ? # @ : % must be percent-encoded (%2F %3F %23 %40 %3A %25)',
    ],
    [
      { sources: [{ url: 'postgres://db/shop', app: '1', schema: 'x"; DROP TABLE y' }] },
      'sources[0].schema: must be 1 to 63 of a-z, 0-9 and _, not beginning with a digit',
    ],
    [
      { sources: [{ url: 'postgres://db/shop', app: '1', pollMs: 9 }] },
      'sources[0].pollMs: must be between 10 and 60000, got 9',
    ],
    [
      { port: 1 },
      'port: unknown setting, did you mean "channels.port", "push.port" or "admin.port"?',
    ],
    [{ tls: { apps: [] } }, 'tls.apps: unknown setting, did you mean "channels.apps"?'],
  ];

  it.each(refused)('of %j', (content, problem) => {
    const problems = problemsIn(load({ 'a.json': JSON.stringify(content) }, {}, 'a.json'));

    expect(problems).toEqual([problem.startsWith('must') ? `a.json: ${problem}` : problem]);
  });

  it('repeat no secret', () => {
    const key = { key: 'hunter2', secret: ['hunter2'] };
    const wrong = { publicKey: 1, privateKey: { hunter2: 1 }, subject: 'hunter2' };
    const alike = ['hunter2', 'hunter2'];
    const loaded = loadJson(
      {
        channels: { apps: [{ id: 'a', keys: [key, key], webhooks: [{ url: 'hunter2' }] }] },
        push: {
          instances: [
            { secretKeys: 'hunter2', web: { vapid: wrong } },
            { secretKeys: alike, web: { vapid: { ...vapid, privateKey: 'hunter2' } } },
          ],
        },
        admin: { password: ['hunter2'] },
        engine: { type: 'redis', url: 'http://:hunter2@redis' },
      },
      { FANFARE_STORE_URL: 'hunter2' },
    );

    expect(problemsIn(loaded).length).toBeGreaterThan(10);
    expect(problemsIn(loaded).join()).not.toContain('hunter2');
  });

  it('of a name that JavaScript gives a meaning', () => {
    const text = `{"__proto__":{"drainSeconds":1},"channels":{"apps":[
      {"__proto__":1,"constructor":2,"id":"a","keys":[{"key":"k","secret":"s"}]}]}}`;

    for (const name of ['fanfare.json', 'fanfare.yaml']) {
      expect(problemsIn(load({ [name]: text })).toSorted()).toEqual([
        '__proto__: unknown setting',
        'channels.apps[0].__proto__: unknown setting',
        'channels.apps[0].constructor: unknown setting',
      ]);
    }
  });

  it.each([
    ['a host', 'push.example.org', true],
    ['all below a host', '*.push.apple.com', true],
    ['a host and port', 'localhost:8443', true],
    ['an address', '[::1]:8443', true],
    ['a URL', 'https://push.example.org', false],
    ['every host', '*', true],
    ['nothing', '', false],
  ])('of an allowed host: %s', (_, host, ok) => {
    const web = { vapid, allowedHosts: [host] };

    expect(loadJson({ push: { instances: [{ ...instance, web }] } }).ok).toBe(ok);
  });
});

describe('the limit of a value that grows', () => {
  it('is at most a quarter of what may wait for a connection', () => {
    expect(problemsIn(loadValues(262_144))).toEqual([]);
    expect(problemsIn(loadValues(262_145))).toEqual([`${TOO_LARGE} 262144`]);
    expect(problemsIn(loadValues(25_000, 100_000))).toEqual([]);
    expect(problemsIn(loadValues(25_001, 100_000))).toEqual([`${TOO_LARGE} 25000`]);
    // The default is lowered instead.
    expect(problemsIn(loadJson({ channels: { sendBufferBytes: 100_000, apps: [app] } }))).toEqual(
      [],
    );
  });
});
