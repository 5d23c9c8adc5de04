import { describe, expect, it } from 'bun:test';
import { DEFAULT_LIMITS } from '../../testing/push-limits.ts';
import { app, configIn, instance, load, loadJson, problemsIn, vapid } from './loading.fixture.ts';

describe('a configuration', () => {
  it('has every default of the contract when there is no file', () => {
    const loaded = load({});

    expect(loaded).toEqual({
      ok: true,
      source: undefined,
      isFileEmpty: true,
      tenants: { app: new Map(), instance: new Map() },
      warnings: [],
      config: {
        channels: {
          host: '0.0.0.0',
          port: 6001,
          pathPrefix: '',
          healthChecks: true,
          maxConnections: 0,
          maxSubscriptions: 0,
          maxFallbackConnections: 10_000,
          activityTimeoutSeconds: 120,
          pongTimeoutSeconds: 30,
          authorizationTimeoutSeconds: 10,
          clientFrameBytes: 65536,
          sendBufferBytes: 1048576,
          waitingBytes: 0,
          framesPerSecond: 300,
          addressLimits: { connectionsPerSecond: 2000, framesPerSecond: 50_000 },
          historyBytes: 'auto',
          subscriptionErrors: true,
          requestBytes: 1048576,
          unfinishedBytes: 'auto',
          httpIdleSeconds: 240,
          bodyBytesPerSecond: 4096,
        },
        realtime: { threads: 'auto' },
        push: {
          host: '0.0.0.0',
          port: 6002,
          pathPrefix: '',
          healthChecks: true,
          publicUrl: null,
          maxConnections: 'auto',
          httpIdleSeconds: 240,
          bodyBytesPerSecond: 1024,
          addressLimits: {
            connectionsPerSecond: 1000,
            requestsPerSecond: 1000,
            rowsPerSecond: 500,
            reportsPerSecond: 1000,
          },
          tokenLeewaySeconds: 60,
          tokenIssuers: [],
        },
        admin: {
          host: '127.0.0.1',
          port: 6003,
          pathPrefix: '',
          password: null,
          httpIdleSeconds: 240,
          proxy: null,
          roles: [],
        },
        dashboard: { enabled: true, payloads: 'show' },
        webhooks: { allowPrivateAddresses: false, timeoutSeconds: 10, logDays: 7 },
        outgoing: { proxy: null, noProxy: null, proxyNames: 'checked' },
        tls: { certFile: null, keyFile: null, acme: null },
        engine: { type: 'memory' },
        store: {
          url: 'sqlite:data/fanfare.db',
          tls: { caFile: null, certFile: null, keyFile: null },
        },
        log: { level: 'info', format: 'auto' },
        memoryBytes: 0,
        sources: [],
        trustedProxies: [],
        stopDelaySeconds: 0,
        drainSeconds: 8,
      },
    });
  });

  it('fills in an app from its id and keys', () => {
    const { channels } = configIn(loadJson({ channels: { apps: [app] } }));

    expect(channels.apps).toEqual([
      {
        id: 'a',
        name: '',
        enabled: true,
        keys: [{ key: 'k', secret: 's' }],
        clientEvents: false,
        subscriptionCounts: false,
        watchlists: false,
        offlineSeconds: 3,
        authorizedConnectionsOnly: false,
        allowedOrigins: [],
        compressAboveBytes: 0,
        limits: {
          connections: 0,
          connectionsPerUser: 0,
          messagesPerDay: 0,
          eventDataBytes: 10240,
          channelsPerTrigger: 100,
          eventsPerBatch: 10,
          presenceMembers: 100,
          clientEventsPerSecond: 10,
          channelsPerConnection: 1000,
          subscriptionsPerSecond: 100,
          memberChangesPerSecond: 10,
          triggersPerSecond: 0,
          queriesPerSecond: 10_000,
          historyBytes: 33_554_432,
          appendBytes: 262_144,
        },
        history: [],
        presence: [],
        pushRules: [],
        webhooks: [],
      },
    ]);
  });

  it('fills in an instance and its gateways', () => {
    const apns = { teamId: 't', keyId: 'k', privateKeyFile: 'a.p8' };
    const webhook = {
      url: 'https://example.org',
      events: ['v1.UserNotificationOpen'],
      secret: 's',
    };
    const gateways = { apns, fcm: { serviceAccountFile: 'f.json' }, web: { vapid } };
    const loaded = loadJson({
      push: {
        instances: [
          instance,
          { ...instance, ...gateways, id: crypto.randomUUID(), webhooks: [webhook] },
        ],
      },
    });

    const [plain, full] = configIn(loaded).push.instances ?? [];
    expect(plain).toEqual({
      ...instance,
      name: '',
      limits: DEFAULT_LIMITS,
      whenUserIsFull: 'refuse',
      timeZone: 'UTC',
      quietHours: null,
      cap: null,
      webhooks: [],
    });
    expect(full?.apns).toEqual({ ...apns, environment: 'production', origin: null, caFile: null });
    expect(full?.fcm).toEqual({
      serviceAccountFile: 'f.json',
      metadata: false,
      origin: null,
      caFile: null,
    });
    expect(full?.web).toMatchObject({ vapid, allowPrivateAddresses: false, caFile: null });
    expect(full?.web?.allowedHosts).toContain('fcm.googleapis.com');
    expect(full?.webhooks).toEqual([{ ...webhook, customData: {} }] as never);
  });

  it('accepts an app id that was written as a number', () => {
    const { channels } = configIn(loadJson({ channels: { apps: [{ ...app, id: 17 }] } }));

    expect(channels.apps?.[0]?.id).toBe('17');
  });

  it('has instance ids in lower case, keys without padding, and origins without a slash', () => {
    const { push } = configIn(
      loadJson({
        push: {
          publicUrl: 'https://push.example.org/',
          tokenIssuers: ['Push.Example.ORG:8443'],
          instances: [
            {
              ...instance,
              id: instance.id.toUpperCase(),
              web: { vapid: { ...vapid, publicKey: `${vapid.publicKey}=` } },
            },
          ],
        },
      }),
    );

    expect(push).toMatchObject({
      publicUrl: 'https://push.example.org',
      tokenIssuers: ['push.example.org:8443'],
      instances: [{ id: instance.id, web: { vapid } }],
    });
  });

  it('keeps an empty list of apps apart from none at all', () => {
    expect(configIn(loadJson({ channels: { apps: [] } })).channels.apps).toEqual([]);
    expect(configIn(loadJson({})).channels.apps).toBeUndefined();
  });

  it('uses the memory engine if no type is named', () => {
    expect(configIn(loadJson({ engine: {} })).engine).toEqual({ type: 'memory' });
  });
});

describe('a VAPID subject that Apple refuses', () => {
  const withWeb = (more: object) => {
    const web = { vapid: { ...vapid, subject: 'mailto:ops@localhost' }, ...more };
    return loadJson({ push: { instances: [{ ...instance, web }] } });
  };

  it('is named by its path, and allowed where private addresses are', () => {
    expect(problemsIn(withWeb({}))).toEqual([
      expect.stringMatching(/^push\.instances\[0\]\.web\.vapid\.subject: must be mailto: with/),
    ]);
    expect(problemsIn(withWeb({ allowPrivateAddresses: true }))).toEqual([]);
  });
});

describe('custom data of a webhook', () => {
  const withCustomData = (customData: string) =>
    `{"push":{"instances":[{"id":"${instance.id}","secretKeys":["s"],"webhooks":[{"url":"http://x",
      "events":["v1.UserNotificationOpen"],"secret":"s","customData":${customData}}]}]}}`;
  const problem =
    'push.instances[0].webhooks[0].customData: must be an object of plain JSON of at most 32 levels and 10000 values';

  it('is any JSON object, and arrives whole', () => {
    const text = withCustomData('{"a":[1,null,{"b":"c"}],"__proto__":true}');
    const { push } = configIn(load({ 'fanfare.json': text }));

    expect(JSON.stringify(push.instances?.[0]?.webhooks[0]?.customData)).toBe(
      '{"a":[1,null,{"b":"c"}],"__proto__":true}',
    );
  });

  it.each([
    ['a list', '[]'],
    ['deep', '{"a":'.repeat(40) + 1 + '}'.repeat(40)],
    ['wide', `{"a":[${Array(10_000).fill(0)}]}`],
    ['infinite', '{"a":1e999}'],
  ])('is refused where it is %s', (_, customData) => {
    expect(problemsIn(load({ 'fanfare.json': withCustomData(customData) }))).toEqual([problem]);
  });

  it('is refused where a YAML alias makes it hold itself', () => {
    const text = withCustomData('&loop {"a": *loop}');

    expect(problemsIn(load({ 'fanfare.yaml': text }))).toEqual([problem]);
  });
});
