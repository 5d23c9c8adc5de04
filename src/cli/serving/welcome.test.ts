import { describe, expect, it } from 'bun:test';
import { type WelcomeOptions, type WelcomeServer, welcome } from './welcome.ts';

const address = (host: string, port: number, tls = false) => ({ host, port, tls });

const app = { id: '17', name: '', enabled: true, keys: [{ key: 'app-key', secret: 'app-secret' }] };

const instance = {
  id: '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c',
  name: 'shop',
  secretKeys: ['FIRST-SECRET', 'SECOND-SECRET'],
  web: { vapidPublicKey: 'B-PUBLIC' },
};

function server(more: Partial<WelcomeServer> = {}): WelcomeServer {
  return {
    channels: address('0.0.0.0', 6001),
    push: address('0.0.0.0', 6002),
    admin: address('127.0.0.1', 6003),
    threads: 1,
    adminPassword: 'configuration',
    apps: [app],
    createdApp: undefined,
    instances: [instance],
    createdInstance: undefined,
    ...more,
  };
}

const WELCOME: WelcomeOptions = {
  publicUrl: null,
  hasDashboard: true,
  isStoreOwn: false,
  tenants: { app: new Map(), instance: new Map() },
  configFile: undefined,
  logInToken: undefined,
  isSeen: true,
};

/** The lines below a line, up to the next one that is not indented. */
function below(heading: string, printed: string): string {
  const [, text = ''] = printed.split(`\n${heading}\n`);
  return text.split(/\n(?=\S)/)[0]?.trim() ?? '';
}

describe('the welcome of a later start', () => {
  it('names the tenants and the listeners, and no secret', () => {
    const text = welcome(server(), WELCOME);
    expect(text).toContain('App 17\n  key     app-key\n');
    expect(text).toContain(
      `Instance ${instance.id} (shop)\n  secret key  npx fanfare instances show ${instance.id} --secret\n`,
    );
    expect(text.split('\n').slice(-4)).toEqual([
      'Channels  http://0.0.0.0:6001   WebSocket clients and the HTTP API',
      'Push      http://0.0.0.0:6002   devices, and backends that publish',
      'Admin     http://127.0.0.1:6003   /healthz, /readyz, /metrics and /api/v1',
      'Dashboard http://127.0.0.1:6003/dashboard',
    ]);
    expect(text).not.toMatch(/app-secret|FIRST|SECOND/);
  });

  it('prints how to get a password of the admin API that the server has made', () => {
    expect(welcome(server({ adminPassword: 'file' }), WELCOME)).toContain(
      '/api/v1\n          password: npx fanfare admin password\n',
    );
  });

  it('prints a link to the dashboard that logs a person in, as this machine reaches it', () => {
    const admin = address('0.0.0.0', 6003);
    const options = { ...WELCOME, logInToken: 'T' };
    expect(welcome(server({ admin }), options)).toEndWith(
      'Dashboard http://127.0.0.1:6003/dashboard#token=T\n          logs you in, once, within 10 minutes',
    );
    expect(welcome(server(), { ...options, hasDashboard: false })).not.toContain('ashboard');
  });

  it('says where the configuration has secrets, which no command shows', () => {
    const tenants = {
      app: new Map([['17', 'the environment (FANFARE_APP_SECRET)']]),
      instance: new Map([[instance.id, 'conf/fanfare.yaml']]),
    };
    const text = welcome(server(), { ...WELCOME, tenants });
    expect(text).toContain('  secret  as configured in the environment (FANFARE_APP_SECRET)\n');
    expect(text).toContain('  secret key  as configured in conf/fanfare.yaml\n');
    expect(text).not.toContain('apps show');
    expect(text).not.toContain('instances show');
  });

  it('prints commands that use the same configuration file', () => {
    const options = { ...WELCOME, configFile: 'conf/fanfare.yaml' };
    const text = welcome(server({ adminPassword: 'file' }), options);
    expect(text).toContain('apps show 17 --secret --config conf/fanfare.yaml\n');
    expect(text).toContain(`instances show ${instance.id} --secret --config conf/fanfare.yaml\n`);
    expect(text).toContain('npx fanfare admin password --config conf/fanfare.yaml\n');
    const none = server({ apps: [], instances: [] });
    expect(welcome(none, { ...options, configFile: "it's.yaml" })).toContain(
      "apps create --name NAME --config 'it'\\''s.yaml'\n",
    );
    expect(welcome(none, { ...options, isStoreOwn: true })).toContain(
      'There is no app. Add one to channels.apps in the configuration.\n',
    );
  });

  it('prints how to create an app and an instance if there is none', () => {
    const text = welcome(server({ apps: [], instances: [] }), WELCOME);
    expect(text).toContain('npx fanfare apps create');
    expect(text).toContain('npx fanfare instances create');
  });
});

describe('the welcome of the first start', () => {
  const first = { createdApp: app.id, createdInstance: instance.id };

  it('prints the credentials for SDKs', () => {
    const text = welcome(server(first), WELCOME);
    expect(text).toContain(`  instance id       ${instance.id}\n`);
    expect(text).toContain('  secret key        FIRST-SECRET\n');
    expect(text).toContain('  VAPID public key  B-PUBLIC\n');
    expect(text).toContain('  secret  app-secret\n');
    expect(text).toContain(`npx fanfare instances change ${instance.id} --vapid-subject mailto:`);
  });

  it('prints no secret but the commands that show them, if it may be kept', () => {
    const text = welcome(server(first), { ...WELCOME, isSeen: false });
    expect(text).not.toMatch(/app-secret|FIRST|SECOND/);
    expect(text).toContain('  secret  npx fanfare apps show 17 --secret\n');
    expect(text).toContain(
      `  secret key        npx fanfare instances show ${instance.id} --secret\n`,
    );
    expect(text).toContain("appId: '17', key: 'app-key', secret: 'SECRET'");
    expect(text).toContain("secretKey: 'SECRET-KEY'");
  });

  it('introduces only the instance if there were apps already', () => {
    const text = welcome(server({ createdInstance: instance.id }), WELCOME);
    expect(text).toContain('FIRST-SECRET');
    expect(text).not.toContain('app-secret');
  });

  it('prints a page, a service worker and a backend that work together', () => {
    const text = welcome(server(first), WELCOME);
    const page = below('In a page that gets notifications, at https:// or on localhost:', text);
    expect(page).toContain('https://js.pusher.com/beams/2.1.0/push-notifications-cdn.js');
    expect(page).toContain(
      `instanceId: '${instance.id}', endpointOverride: 'http://localhost:6002'`,
    );
    expect(page).toContain("beams.start().then(() => beams.addDeviceInterest('hello'))");
    expect(below('In /service-worker.js of the same site:', text)).toBe(
      "importScripts('http://localhost:6002/sdk/service-worker.js');",
    );
  });

  it('prints IPv6 addresses as each program takes them', () => {
    const text = welcome(
      server({ ...first, channels: address('::1', 6001), push: address('::1', 6002) }),
      WELCOME,
    );
    expect(text).toContain('Channels  http://[::1]:6001 ');
    expect(text).toContain("endpointOverride: 'http://[::1]:6002'");
    expect(runBackend(text)).toMatchObject({ made: { endpoint: '::1' } });
  });

  it('prints a backend that the library of Pusher accepts', () => {
    const options = runBackend(welcome(server(first), WELCOME));
    expect(options).toEqual({
      made: {
        instanceId: instance.id,
        secretKey: 'FIRST-SECRET',
        endpoint: 'localhost',
        port: 6002,
      },
      protocol: undefined,
      published: [['hello'], { web: { notification: { title: 'Hello', body: 'It works' } } }],
    });
  });

  it('uses https if the listener has TLS, and the public URL for browsers', () => {
    const push = address('push.internal', 8443, true);
    const plain = welcome(server({ ...first, push }), WELCOME);
    expect(plain).toContain("endpointOverride: 'https://push.internal:8443'");
    expect(runBackend(plain)).toMatchObject({
      made: { endpoint: 'push.internal', port: 8443 },
      protocol: 'https',
    });
    const known = welcome(server({ ...first, push }), {
      ...WELCOME,
      publicUrl: 'https://push.example.org',
    });
    expect(known).toContain("endpointOverride: 'https://push.example.org'");
    expect(known).toContain("importScripts('https://push.example.org/sdk/service-worker.js')");
  });
});

/** Runs the printed code of the backend with a stand-in for the library. */
function runBackend(text: string) {
  const printed = below(
    'In a backend that publishes (npm install @pusher/push-notifications-server):',
    text,
  );
  const seen: { made?: unknown; protocol?: string; published?: unknown } = {};
  class PushNotifications {
    constructor(options: unknown) {
      seen.made = options;
    }
    set protocol(value: string) {
      seen.protocol = value;
    }
    publishToInterests(...given: unknown[]) {
      seen.published = given;
    }
  }
  new Function('require', printed)(() => PushNotifications);
  return { protocol: undefined, ...seen };
}
