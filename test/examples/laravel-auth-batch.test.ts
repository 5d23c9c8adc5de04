import { afterAll, beforeAll, expect, it } from 'bun:test';
import { join } from 'node:path';
import PusherJs from 'pusher-js';
import { authorize } from '../../sdk/authorize/index.js';
import { optionsFor } from '../../testing/clients/official-client.ts';
import { codeIn } from '../../testing/doc-code.ts';
import { eventually } from '../../testing/eventually.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { freePort } from '../../testing/servers/free-port.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';

/** The endpoint for Laravel of docs/use/authorization.md, with the broadcasting of Laravel, and `fanfare/authorize`. */

const PAGE = join(import.meta.dir, '../../docs/use/authorization.md');

const parts = new AsyncDisposableStack();
let server: Fanfare;
let endpoint: string;

beforeAll(async () => {
  server = parts.use(await startFanfare());
  const code = await codeIn(PAGE, 'php', 'Broadcast::auth');
  const { path } = parts.use(temporaryDirectory({ 'code.php': code }));
  const host = `127.0.0.1:${await freePort()}`;
  const php = Bun.spawn(['php', '-S', host, join(import.meta.dir, 'auth-batch.fixture.php')], {
    env: {
      ...process.env,
      APP_KEY: APP.key,
      APP_SECRET: APP.secret,
      AUTH_BATCH: join(path, 'code.php'),
    },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  parts.defer(async () => {
    php.kill();
    await php.exited;
  });
  endpoint = `http://${host}/pusher/auth-batch`;
  const asked = () =>
    fetch(endpoint, { method: 'POST' }).then(
      ({ status }) => status,
      () => 0,
    );
  await eventually(asked, (status) => status === 200);
});
afterAll(() => parts.disposeAsync());

it('authorises several channels in one request, and refuses some of them', async () => {
  const options = { ...optionsFor(server), ...authorize({ endpoint }) };
  const pusher = new PusherJs(APP.key, options);
  parts.defer(() => pusher.disconnect());
  const outcome = (name: string): Promise<unknown> => {
    const channel = pusher.subscribe(name);
    return new Promise((resolve) => {
      channel.bind('pusher:subscription_succeeded', resolve);
      channel.bind('pusher:subscription_error', resolve);
    });
  };
  const names = Array.from({ length: 25 }, (_, n) => `private-team.${n}`);
  const outcomes = await Promise.all([...names, 'presence-room', 'private-unknown'].map(outcome));
  const refused = (name: string) => ({
    type: 'AuthError',
    error: `${name} was refused with 403`,
  });
  expect(outcomes[25]).toMatchObject({ count: 1, me: { id: 'ann', info: { name: 'Ann' } } });
  expect(outcomes[26]).toMatchObject(refused('private-unknown'));
  expect(outcomes[3]).toMatchObject(refused('private-team.3'));
  const entered = names.filter((name) => pusher.channel(name).subscribed);
  expect(entered).toEqual(names.filter((name) => name !== 'private-team.3'));
});
