import { describe, expect, it, setDefaultTimeout } from 'bun:test';
import { join } from 'node:path';
import Pusher from 'pusher';
import { Inbox } from '../../testing/inbox.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';
import { fanfareOf } from './program.ts';

/** `examples/laravel`: its settings are those that Laravel documents, and with them an event arrives. PHP does not run. */

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

describe('the example of Laravel', async () => {
  const variables = variablesIn(await read('.env.example'));
  const php = await read('config/broadcasting.php');
  const echo = await read('resources/js/echo.js');

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
    using directory = temporaryDirectory();
    await using server = await fanfareOf('laravel', directory.path);
    expect(variables).toMatchObject({ PUSHER_HOST: 'localhost', PUSHER_PORT: '6001' });
    const port = String(server.port);
    const { key, secret, app_id, host, scheme, useTLS } = settingsIn(php, variables);
    expect({ scheme, useTLS }).toEqual({ scheme: 'http', useTLS: false });
    const backend = new Pusher({
      appId: String(app_id),
      key: String(key),
      secret: String(secret),
      host: String(host),
      port,
      useTLS: useTLS === true,
    });

    const page = await Bun.build({
      entrypoints: [join(EXAMPLE, 'resources/js/bootstrap.js')],
      outdir: directory.path,
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
    await import(join(directory.path, 'bootstrap.js'));
    const { Echo } = window;
    Echo?.channel('orders')
      .subscribed(() => received.put('subscribed'))
      .listen('OrderShipped', (data: unknown) => received.put(data));
    expect(await received.next()).toBe('subscribed');

    await backend.trigger('orders', 'App\\Events\\OrderShipped', { order: 7 });

    expect(await received.next()).toEqual({ order: 7 });
    Echo?.disconnect();
  });
});
