import { afterAll, beforeAll, expect, it } from 'bun:test';
import { RawHttp } from '../../../testing/clients/raw-http.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';

const scripts = ['authorize', 'resume'] as const;
const PATH = '/sdk/authorize.js';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({ channels: { pathPrefix: '/realtime' } });
});
afterAll(() => server[Symbol.asyncDispose]());

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${server.port}${path}`, { headers });

it.each(scripts)('serves a plugin for pusher-js to pages of any site: %s', async (name) => {
  const response = await get(`/sdk/${name}.js`);

  expect(response.status).toBe(200);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'access-control-allow-origin': '*',
    'cache-control': 'public, max-age=3600, stale-while-revalidate=86400',
    'content-type': 'text/javascript; charset=utf-8',
    'cross-origin-resource-policy': 'cross-origin',
    'x-content-type-options': 'nosniff',
  });
  expect(new Bun.Transpiler().scan(await response.text())).toEqual({
    exports: [name],
    imports: [],
  });
});

it.each(scripts)('serves it below the path prefix too, and not below others: %s', async (name) => {
  expect((await get(`/realtime/sdk/${name}.js?v=1`)).status).toBe(200);
  expect((await get(`/other/sdk/${name}.js`)).status).toBe(404);
});

it('answers with 304 to a browser that has it already', async () => {
  const tag = (await get(PATH)).headers.get('etag') ?? '';
  expect(tag).toMatch(/^"\w+"$/);

  const known = await get(PATH, { 'if-none-match': `"other", W/${tag}` });
  expect(known.status).toBe(304);
  expect(known.headers.get('etag')).toBe(tag);
  expect(await known.text()).toBe('');
  expect((await get(PATH, { 'if-none-match': '"other"' })).status).toBe(200);
});

it('answers HEAD without the text', async () => {
  await using connection = await RawHttp.open(server);
  const head = await connection.request({ method: 'HEAD', target: PATH });

  expect(head).toMatchObject({ status: 200, body: '' });
});
