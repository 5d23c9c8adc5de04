import { describe, expect, it } from 'bun:test';
import { configIn, load, loadJson, problemsIn } from '../loading.fixture.ts';
import { configSchema } from '../schema.ts';
import { settingsOf } from '../schema-walk.ts';
import { environmentName } from './environment.ts';
import { isServiceLink } from './service-links.ts';

describe('an environment variable', () => {
  it('overrides the file, which overrides the default', () => {
    const loaded = loadJson(
      { channels: { port: 1, maxConnections: 5 } },
      {
        FANFARE_CHANNELS_PORT: '2',
        FANFARE_CHANNELS_ACTIVITY_TIMEOUT_SECONDS: '60',
        FANFARE_WEBHOOKS_ALLOW_PRIVATE_ADDRESSES: 'true',
        FANFARE_STORE_URL: 'postgres://db/fanfare',
        FANFARE_LOG_FORMAT: 'json',
        FANFARE_DRAIN_SECONDS: '0',
        PATH: '/bin',
        FANFARE_ADMIN_HOST: undefined,
      },
    );

    expect(configIn(loaded)).toMatchObject({
      channels: { port: 2, maxConnections: 5, activityTimeoutSeconds: 60 },
      webhooks: { allowPrivateAddresses: true },
      store: { url: 'postgres://db/fanfare' },
      log: { format: 'json' },
      admin: { host: '127.0.0.1' },
      drainSeconds: 0,
    });
  });

  it.each<[string, 'auto' | number]>([
    ['auto', 'auto'],
    ['4', 4],
  ])('is a word or a number if the setting accepts both: %s', (text, threads) => {
    const loaded = load({}, { FANFARE_REALTIME_THREADS: text });

    expect(configIn(loaded).realtime).toEqual({ threads });
  });

  it('chooses the engine', () => {
    const redis = { FANFARE_ENGINE_TYPE: 'redis', FANFARE_ENGINE_URL: 'redis://localhost' };

    expect(configIn(load({}, redis)).engine).toMatchObject({
      type: 'redis',
      url: 'redis://localhost',
      keyPrefix: 'fanfare:',
    });
    expect(problemsIn(load({}, { FANFARE_ENGINE_URL: 'redis://localhost' }))).toEqual([
      'FANFARE_ENGINE_URL (engine.url): unknown setting when engine.type is "memory"',
    ]);
  });

  it('holds a list of texts, with spaces between', () => {
    const redis = {
      FANFARE_ENGINE_TYPE: 'redis',
      FANFARE_ENGINE_URLS: ' redis://a redis+sentinel://b,c/name\n',
      FANFARE_TRUSTED_PROXIES: '10.0.0.0/8 ::1',
    };

    expect(configIn(load({}, redis))).toMatchObject({
      engine: { type: 'redis', urls: ['redis://a', 'redis+sentinel://b,c/name'] },
      trustedProxies: ['10.0.0.0/8', '::1'],
    });
    expect(problemsIn(load({}, { ...redis, FANFARE_ENGINE_URLS: 'redis://a x' }))).toEqual([
      'FANFARE_ENGINE_URLS (engine.urls[1]): must begin with redis://, rediss://, redis+sentinel://, rediss+sentinel://, redis+cluster:// or rediss+cluster://',
    ]);
  });

  it('means null if it is empty and the setting accepts null', () => {
    const loaded = loadJson({ admin: { password: 'p' } }, { FANFARE_ADMIN_PASSWORD: '' });

    expect(configIn(loaded).admin.password).toBeNull();
    expect(configIn(load({}, { FANFARE_CHANNELS_PATH_PREFIX: '' })).channels.pathPrefix).toBe('');
  });

  it.each([
    ['FANFARE_CHANNELS_PORT', '70000', 'must be between 0 and 65535, got 70000'],
    ['FANFARE_CHANNELS_PORT', '1.5', 'must be a whole number, got 1.5'],
    ['FANFARE_CHANNELS_PORT', '0x10', 'must be a whole number, got "0x10"'],
    ['FANFARE_CHANNELS_PORT', '', 'must be a whole number, got ""'],
    ['FANFARE_CHANNELS_HOST', '', 'must not be empty'],
    ['FANFARE_WEBHOOKS_ALLOW_PRIVATE_ADDRESSES', 'yes', 'must be true or false, got "yes"'],
    ['FANFARE_STORE_URL', 'x', 'must be sqlite:PATH or begin with postgres:// or postgresql://'],
    [
      'FANFARE_REALTIME_THREADS',
      'many',
      'must be "auto" or a whole number from 1 to 64, got "many"',
    ],
    ['FANFARE_REALTIME_THREADS', '65', 'must be "auto" or a whole number from 1 to 64, got 65'],
    ['FANFARE_ENGINE_TYPE', 'x', 'must be one of "memory", "redis", got "x"'],
  ])('is refused with the setting it stands for: %s=%s', (name, text, message) => {
    const [problem, ...others] = problemsIn(load({}, { [name]: text }));

    expect(problem).toMatch(/^FANFARE_\w+ \(\w+\.\w+\): /);
    expect(problem).toEndWith(`): ${message}`);
    expect(others).toEqual([]);
  });

  it('must be the name of a setting outside of every list', () => {
    const environment = {
      FANFARE_NOTHING_LIKE_IT: 'x',
      FANFARE_CHANELS_PORT: '1',
      FANFARE_CHANNELS_APPS: '[]',
      FANFARE_CHANNELS_APPS_ID: '1',
      'FANFARE_TWO\nLINES': '1',
    };

    expect(problemsIn(load({}, environment))).toEqual([
      'FANFARE_NOTHING_LIKE_IT: unknown setting',
      'FANFARE_CHANELS_PORT: unknown setting, did you mean "FANFARE_CHANNELS_PORT"?',
      'FANFARE_CHANNELS_APPS: can only be set in the file',
      'FANFARE_CHANNELS_APPS_ID: unknown setting',
      '"FANFARE_TWO\\nLINES": unknown setting',
    ]);
  });

  it.each([
    [
      'FANFARE_PORT',
      ', did you mean "FANFARE_CHANNELS_PORT", "FANFARE_PUSH_PORT" or "FANFARE_ADMIN_PORT"?',
    ],
    ['FANFARE_PASSWORD', ', did you mean "FANFARE_ADMIN_PASSWORD"?'],
    ['FANFARE_CERT_FILE', ', did you mean "FANFARE_TLS_CERT_FILE"?'],
    ['FANFARE_SECRET', ', did you mean "FANFARE_APP_SECRET"?'],
    ['FANFARE_URL', ', did you mean "FANFARE_ENGINE_URL" or "FANFARE_STORE_URL"?'],
    ['FANFARE_PORT_CHANNELS', ''],
  ])('that lacks the name of its group is refused with the whole one: %s', (name, hint) => {
    expect(problemsIn(load({}, { [name]: '1' }))).toEqual([`${name}: unknown setting${hint}`]);
  });

  it.each([
    'FANFARE',
    'FANFARE_CHANNELS',
    'FANFARE_PUSH',
    'FANFARE_ADMIN',
    'FANFARE_STORE',
    'FANFARE_REALTIME_2',
  ])('that Kubernetes or a Docker link set for a service called %s is ignored', (service) => {
    const environment = {
      [`${service}_SERVICE_HOST`]: '10.0.0.1',
      [`${service}_SERVICE_PORT`]: '6001',
      [`${service}_SERVICE_PORT_WS`]: '6001',
      [`${service}_SERVICE_PORT_HTTP_METRICS`]: '6003',
      [`${service}_PORT`]: 'tcp://10.0.0.1:6001',
      [`${service}_PORT_6001_TCP`]: 'tcp://10.0.0.1:6001',
      [`${service}_PORT_6001_TCP_PROTO`]: 'tcp',
      [`${service}_PORT_6001_TCP_PORT`]: '6001',
      [`${service}_PORT_6001_TCP_ADDR`]: '10.0.0.1',
      [`${service}_PORT_53_UDP`]: 'udp://[fd00::1]:53',
      [`${service}_PORT_53_UDP_PROTO`]: 'udp',
      [`${service}_PORT_53_UDP_PORT`]: '53',
      [`${service}_PORT_53_UDP_ADDR`]: 'fd00::1',
      [`${service}_PORT_7_SCTP`]: 'sctp://10.0.0.1:7',
      [`${service}_PORT_6001_TCP_START`]: 'tcp://172.17.0.5:6001',
      [`${service}_PORT_6001_TCP_PORT_END`]: '6003',
      [`${service}_NAME`]: '/web/fanfare',
      [`${service}_ENV_PATH`]: '/usr/bin:/bin',
    };

    expect(configIn(load({}, environment))).toEqual(configIn(load({}, {})));
  });

  it('that is a port stays a setting, and the address of a service leaves the setting alone', () => {
    for (const [address, port] of [
      ['tcp://10.0.0.1:6001', 7001],
      ['udp://10.0.0.1:6001', 7001],
      ['7002', 7002],
    ] as const) {
      const loaded = loadJson(
        { channels: { port: 7001 }, push: { port: 7001 }, admin: { port: 7001 } },
        {
          FANFARE_CHANNELS_PORT: address,
          FANFARE_PUSH_PORT: address,
          FANFARE_ADMIN_PORT: address,
        },
      );
      const { channels, push, admin } = configIn(loaded);
      expect([channels.port, push.port, admin.port]).toEqual([port, port, port]);
    }
  });

  it('of a setting is never mistaken for one of a service', () => {
    const names = settingsOf(configSchema).flatMap((setting) => environmentName(setting) ?? []);
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => isServiceLink(name, '1'))).toEqual([]);
  });

  it('that only resembles that of a service is refused', () => {
    const environment = {
      FANFARE_PORT: '6001',
      FANFARE_NAME: 'my server',
      FANFARE_SERVICE: 'x',
      FANFARE_HOST: '10.0.0.1',
      FANFARE_PORT_6001: 'tcp://10.0.0.1:6001',
      FANFARE_CHANNELS_PORT: 'http://10.0.0.1:6001',
      FANFARE_CHANNELS_HOSTS: 'tcp://10.0.0.1:6001',
    };

    expect(problemsIn(load({}, environment)).map((problem) => problem.split(/[ :]/)[0])).toEqual(
      Object.keys(environment),
    );
  });

  it('is reported as wrong together with a file that cannot be read, and nothing else is', () => {
    const environment = { FANFARE_DRAIN_SECONDS: 'x', FANFARE_TLS_CERT_FILE: 'c.pem' };

    expect(problemsIn(load({}, environment, 'gone.yaml'))).toEqual([
      'gone.yaml: does not exist',
      'FANFARE_DRAIN_SECONDS (drainSeconds): must be a whole number, got "x"',
    ]);
  });
});

describe('the port of a platform, PORT', () => {
  const ports = (content: object, environment: Record<string, string>) => {
    const { channels, push } = configIn(loadJson(content, environment));
    return [channels.port, push.port];
  };

  it('is that of Channels and push, unless something else sets these', () => {
    expect(ports({}, { PORT: '8080' })).toEqual([8080, 8080]);
    expect(ports({}, { PORT: '8080', FANFARE_PUSH_PORT: '7002' })).toEqual([8080, 7002]);
    expect(ports({ push: { port: 7002 } }, { PORT: '8080' })).toEqual([8080, 7002]);
    expect(ports({}, { PORT: '8080', FANFARE_CHANNELS_PORT: '7001' })).toEqual([7001, 6002]);
    expect(ports({ channels: { port: 7001 } }, { PORT: '8080' })).toEqual([7001, 6002]);
    expect(ports({ channels: { port: 7001 } }, { PORT: 'COM1' })).toEqual([7001, 6002]);
    expect(ports({}, { PORT: '' })).toEqual([6001, 6002]);
  });

  it.each(['0', '65536', '80x', '-1', 'tcp://10.0.0.1:80'])('is refused if it is %s', (PORT) => {
    expect(problemsIn(load({}, { PORT }))).toEqual([
      `PORT: must be a whole number from 1 to 65535, got ${JSON.stringify(PORT)}; or set channels.port`,
    ]);
  });
});
