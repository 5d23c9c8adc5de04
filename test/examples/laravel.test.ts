import { afterAll, beforeAll, describe, expect, it, setDefaultTimeout } from 'bun:test';
import { join } from 'node:path';
import Pusher from 'pusher';
import PusherJs from 'pusher-js';
import { Inbox } from '../../testing/inbox.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';
import { fanfareOf } from './program.ts';

/** `examples/laravel`: its settings are those that Laravel documents, and with them an event arrives. Its event runs in Debian's Laravel. */

setDefaultTimeout(180_000);

const EXAMPLE = join(import.meta.dir, '../../examples/laravel');
const read = (path: string) => Bun.file(join(EXAMPLE, path)).text();

/** Source: Laravel's documentation, "Broadcasting", "Pusher Channels". */
const DOCUMENTED_VARIABLES = [
  'BROADCAST_CONNECTION',
  ...['ID', 'KEY', 'SECRET', 'CLUSTER'].map((name) => `PUSHER_APP_${name}`),
  ...['HOST', 'PORT', 'SCHEME'].map((name) => `PUSHER_${name}`),
  ...['APP_KEY', 'HOST', 'PORT', 'SCHEME', 'APP_CLUSTER'].map((name) => `VITE_PUSHER_${name}`),
];

/** Source: `config/broadcasting.php` of laravel/framework. */
const DOCUMENTED_SETTINGS = [
  ...['default', 'connections', 'pusher', 'driver', 'key', 'secret', 'app_id', 'client_options'],
  ...['options', 'cluster', 'host', 'port', 'scheme', 'encrypted', 'useTLS'],
];

/** Source: Laravel's documentation, "Client Side Installation". */
const DOCUMENTED_OPTIONS = [
  ...['broadcaster', 'key', 'cluster', 'forceTLS', 'wsHost', 'wsPort', 'wssPort'],
  'enabledTransports',
];

/** Reads a `.env` file, with `${NAME}` for a variable above. */
function variablesIn(text: string): Readonly<Record<string, string>> {
  const variables: Record<string, string> = {};
  for (const [, name = '', value = ''] of text.matchAll(/^(\w+)="?([^"\n]*)"?$/gm)) {
    variables[name] = value.replace(/\$\{(\w+)\}/g, (_, of: string) => variables[of] ?? '');
  }
  return variables;
}

/** Reads the settings of a PHP file that come from variables, with their defaults. */
function settingsIn(php: string, variables: Readonly<Record<string, string>>) {
  const pattern = /'(\w+)' => env\('(\w+)'(?:, '?([^')]*)'?)?\)(?: === '(\w+)')?/g;
  const settings: Record<string, string | boolean> = {};
  for (const [, key = '', variable = '', otherwise, wanted] of php.matchAll(pattern)) {
    const value = variables[variable] ?? otherwise ?? '';
    settings[key] = wanted === undefined ? value : value === wanted;
  }
  return settings;
}

/** What Laravel hands to the library of Pusher. */
interface Handed {
  readonly options: Readonly<Record<string, string | boolean>>;
  readonly channels: string[];
  readonly event: string;
  readonly data: unknown;
  readonly params: { readonly socket_id?: string };
}

/** Runs a line of PHP in a Laravel with the files of the example, during a request with this `X-Socket-ID`. */
async function broadcast(
  code: string,
  variables: Readonly<Record<string, string>>,
  socketId: string,
): Promise<Handed> {
  const child = Bun.spawn(['php', join(import.meta.dir, 'broadcast.fixture.php'), code, socketId], {
    env: { ...process.env, ...variables },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [printed, complaint] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect([await child.exited, complaint]).toEqual([0, '']);
  return JSON.parse(printed);
}

describe('the example of Laravel', async () => {
  const variables = variablesIn(await read('.env.example'));
  const php = await read('config/broadcasting.php');
  const echo = await read('resources/js/echo.js');
  const parts = new AsyncDisposableStack();
  let port = '';
  let directory = '';
  let backend: Pusher;

  beforeAll(async () => {
    directory = parts.use(temporaryDirectory()).path;
    port = String(parts.use(await fanfareOf('laravel', directory)).port);
    const { key, secret, app_id, host, scheme, useTLS } = settingsIn(php, variables);
    expect({ scheme, useTLS }).toEqual({ scheme: 'http', useTLS: false });
    backend = new Pusher({
      appId: String(app_id),
      key: String(key),
      secret: String(secret),
      host: String(host),
      port,
      useTLS: useTLS === true,
    });
  });

  afterAll(async () => {
    await parts.disposeAsync();
  });

  it('sets the variables that Laravel documents, and no others', () => {
    expect(Object.keys(variables).toSorted()).toEqual(DOCUMENTED_VARIABLES.toSorted());
  });

  it('uses settings that Laravel documents, from variables that are set', () => {
    for (const [, setting] of php.matchAll(/'(\w+)' =>/g)) {
      expect(DOCUMENTED_SETTINGS).toContain(setting as string);
    }
    const used = `${php} ${echo}`.matchAll(/env\('(\w+)'|import\.meta\.env\.(\w+)/g);
    for (const [, inPhp, inPage] of used) expect(variables).toHaveProperty(inPhp ?? inPage ?? '');
  });

  it('uses options of Laravel Echo that Laravel documents', () => {
    for (const [, option] of echo.matchAll(/^ {2}(\w+):/gm)) {
      expect(DOCUMENTED_OPTIONS).toContain(option as string);
    }
  });

  it('gets an event of a backend with its PHP settings to a page with its Echo', async () => {
    expect(variables).toMatchObject({ PUSHER_HOST: 'localhost', PUSHER_PORT: '6001' });
    const page = await Bun.build({
      entrypoints: [join(EXAMPLE, 'resources/js/bootstrap.js')],
      outdir: directory,
      target: 'bun',
      define: Object.fromEntries(
        Object.entries({ ...variables, VITE_PUSHER_PORT: port })
          .filter(([name]) => name.startsWith('VITE_'))
          .map(([name, value]) => [`import.meta.env.${name}`, JSON.stringify(value)]),
      ),
    });
    expect(page.success).toBe(true);
    const received = new Inbox<unknown>('The page');
    const window: { Echo?: import('laravel-echo').default<'pusher'> } = {};
    Object.assign(globalThis, { window });
    await import(join(directory, 'bootstrap.js'));
    const { Echo } = window;
    Echo?.channel('orders')
      .subscribed(() => received.put('subscribed'))
      .listen('OrderShipped', (data: unknown) => received.put(data));
    expect(await received.next()).toBe('subscribed');

    await backend.trigger('orders', 'App\\Events\\OrderShipped', { order: 7 });

    expect(await received.next()).toEqual({ order: 7 });
    Echo?.disconnect();
  });

  it('leaves out the page that caused an event, with the line of its README that says so', async () => {
    const [toAll = '', toOthers = ''] = [
      ...(await read('README.md')).matchAll(/```php\n(.*)\n```/g),
    ].map(([, code = '']) => code);
    expect(toOthers).toEndWith('->toOthers();');
    const received = new Inbox<string>('The pages');
    const enter = async (name: string) => {
      const client = new PusherJs(variables['PUSHER_APP_KEY'] ?? '', {
        wsHost: variables['PUSHER_HOST'] ?? '',
        wsPort: Number(port),
        forceTLS: false,
        enabledTransports: ['ws'],
        cluster: 'local',
        channelAuthorization: {
          endpoint: '',
          transport: 'ajax',
          customHandler: ({ socketId, channelName }, answer) =>
            answer(null, backend.authorizeChannel(socketId, channelName)),
        },
      });
      parts.defer(() => client.disconnect());
      const channel = client.subscribe('private-orders.7');
      await new Promise((resolve) => channel.bind('pusher:subscription_succeeded', resolve));
      channel.bind('App\\Events\\OrderShipped', ({ order }: { order: number }) =>
        received.put(`${name} ${order}`),
      );
      return client.connection.socket_id;
    };
    const [socketId] = [await enter('its own page'), await enter('another page')];

    for (const code of [toOthers, toAll]) {
      const { options, channels, event, data, params } = await broadcast(code, variables, socketId);
      expect(options['host']).toBe('localhost');
      await backend.trigger(channels, event, data, params);
    }

    const heard = [await received.next(), await received.next(), await received.next()];
    expect(heard[0]).toBe('another page 17');
    expect(heard.toSorted()).toEqual(['another page 17', 'another page 17', 'its own page 17']);
  });
});
