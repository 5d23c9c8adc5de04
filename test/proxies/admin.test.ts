import { afterAll, beforeAll, expect, it, setDefaultTimeout } from 'bun:test';
import { join } from 'node:path';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';
import { changed, example } from './examples.ts';
import { type RunningProxy, startProxy } from './proxies.ts';

/** The example of docs/operate/dashboard.md: nginx in front of the admin listener, which lets users in and names their groups. */

setDefaultTimeout(180_000);

const parts = new AsyncDisposableStack();
let server: Fanfare;
let proxy: RunningProxy;

beforeAll(async () => {
  const settings = Bun.YAML.parse(example('operate/dashboard.md', 'yaml', 'X-Group')) as {
    readonly admin: object;
  };
  server = parts.use(
    await startFanfare({
      config: { ...settings, admin: { ...settings.admin, port: 0, password: 'of Fanfare' } },
    }),
  );
  const directory = parts.use(temporaryDirectory());
  const users = join(directory.path, 'users');
  const [, command = ''] =
    /`(printf 'ann.*?) >> /.exec(
      await Bun.file(join(import.meta.dir, '../../docs/operate/dashboard.md')).text(),
    ) ?? [];
  for (const name of ['ann', 'bob']) {
    const line = command.replace('ann', name).replace('passwd -6', `passwd -6 ${name}s-password`);
    await Bun.$`sh -c ${line} >> ${users}`;
  }
  const listener = changed(example('operate/dashboard.md', 'nginx', 'X-Group'), [
    ['127.0.0.1:6003', `127.0.0.1:${server.adminPort}`],
    ['/etc/nginx/fanfare.users', users],
  ]);
  proxy = parts.use(
    await startProxy('nginx', example('operate/deploy.md', 'nginx', 'listen 443') + listener),
  );
});
afterAll(() => parts.disposeAsync());

const ask = (user: string | undefined, path: string, init: RequestInit = {}) =>
  fetch(`https://127.0.0.1:${proxy.port}${path}`, {
    ...init,
    headers: {
      host: 'admin.example.com',
      ...(user && { authorization: `Basic ${btoa(`${user}:${user}s-password`)}` }),
      ...(init.headers as Record<string, string>),
    },
    tls: { ca: proxy.ca },
  });

const create = (user: string, headers: Readonly<Record<string, string>> = {}) =>
  ask(user, '/api/v1/apps', {
    method: 'POST',
    body: '{"name":"shop"}',
    headers: { 'content-type': 'application/json', ...headers },
  });

it('lets nobody in without a password of nginx, also not with that of Fanfare', async () => {
  expect((await ask(undefined, '/dashboard')).status).toBe(401);
  const authorization = `Basic ${btoa(':of Fanfare')}`;
  expect((await ask(undefined, '/api/v1/apps', { headers: { authorization } })).status).toBe(401);
  expect((await ask(undefined, '/metrics')).status).toBe(401);
});

it('gives each user the role of its group, whatever the request says of itself', async () => {
  // More than the wrong passwords after which an address is refused.
  for (let round = 0; round < 12; round++) {
    expect((await ask('bob', '/api/v1/apps')).status).toBe(200);
  }
  const origin = 'https://admin.example.com';
  expect((await create('ann', { origin })).status).toBe(201);
  expect((await create('bob', { origin })).status).toBe(403);
  expect((await create('bob', { 'x-user': 'ann', 'x-group': 'ops' })).status).toBe(403);
  expect((await ask('ann', '/dashboard')).status).toBe(200);
});

it('passes on live lines of the log at once', async () => {
  const stream = await ask('ann', '/api/v1/log/stream');
  expect(stream.headers.get('content-type')).toContain('text/event-stream');
  const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
  expect((await create('ann')).status).toBe(201);
  const decoder = new TextDecoder();
  let text = '';
  while (!text.includes('Apps changed') && !text.includes('app created')) {
    const { value, done } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  expect(text).toMatch(/"ann"/);
  await reader.cancel();
});
