import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { RawHttp } from '../../../testing/clients/raw-http.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { freePort } from '../../../testing/servers/free-port.ts';
import { appAt } from '../../../testing/servers/test-app.ts';
import {
  ask,
  BACKEND_JSON,
  device,
  INSTANCE,
  JSON_HEADERS,
  PUBLISH_ID,
  publishes,
  pushSettings,
  refusal,
  registration,
  TO_INTERESTS,
} from './exchange.ts';

/** One port for Channels and push, as a platform gives it by `PORT`. */

let server: Fanfare;
beforeAll(async () => {
  const apps = [{ id: APP.id, keys: [{ key: APP.key, secret: APP.secret }] }];
  server = await startFanfare({
    config: {
      channels: { host: '127.0.0.1', apps },
      push: { ...pushSettings(), port: undefined },
    },
    environment: { PORT: String(await freePort()) },
    onlyOne: 'port',
  });
});
afterAll(() => server[Symbol.asyncDispose]());

it('serves both at the port of the environment, and nothing of the admin API', async () => {
  expect(server.pushPort).toBe(server.port);
  expect(server.adminPort).not.toBe(server.port);

  const app = appAt(server);
  const client = await app.connect();
  await client.subscribe('news');
  await app.trigger({ name: 'e', channel: 'news', data: 'x' });
  expect(await client.receive()).toMatchObject({ event: 'e', channel: 'news' });
  const published = await ask(server, 'POST', publishes('/interests'), {
    headers: BACKEND_JSON,
    body: TO_INTERESTS,
  });
  expect(published).toMatchObject({
    status: 200,
    json: { publishId: expect.stringMatching(PUBLISH_ID) },
  });
  for (const path of ['/metrics', '/api/v1/apps', '/dashboard']) {
    expect((await fetch(`http://127.0.0.1:${server.port}${path}`)).status).toBe(404);
  }
  for (const path of ['/healthz', '/readyz', '/sdk/resume.js', '/sdk/service-worker.js']) {
    expect((await fetch(`http://127.0.0.1:${server.port}${path}`)).status).toBe(200);
  }
});

describe('a request to push there', () => {
  it('has the answers of the port of its own: headers, HEAD, preflight, refusals', async () => {
    const registered = await ask(server, 'POST', device('web'), {
      headers: JSON_HEADERS,
      body: registration('web'),
    });
    expect(registered.status).toBe(200);
    const { id } = registered.json as { id: string };
    const interests = Array.from({ length: 100 }, (_, n) => `${n}-${'x'.repeat(160)}`);
    const path = device(`web/${id}/interests`);
    const set = { headers: JSON_HEADERS, body: { interests } };
    expect((await ask(server, 'PUT', path, set)).status).toBe(200);
    const get = await ask(server, 'GET', path);
    expect(get).toMatchObject({ status: 200, json: { interests: interests.toSorted() } });
    // Longer than what is sent without counting.
    expect(get.text.length).toBeGreaterThan(16_384);
    expect(get.headers.get('access-control-allow-origin')).toBe('*');
    const head = await ask(server, 'HEAD', path);
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.headers.get('content-length')).toBe(String(get.text.length));

    const preflight = await ask(server, 'OPTIONS', path);
    expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([
      204,
      'GET, POST, PUT, DELETE',
    ]);
    const wrong = await ask(server, 'PATCH', path);
    expect(wrong).toMatchObject(refusal(405, 'Method not allowed'));
    expect(wrong.headers.get('allow')).toContain('PUT');
    const nobody = { ...BACKEND_JSON, authorization: 'Bearer wrong' };
    expect(
      await ask(server, 'POST', publishes('/interests'), { headers: nobody, body: TO_INTERESTS }),
    ).toMatchObject(refusal(401, 'Unauthorized'));
  });

  it('is refused if its body is too long, before the body is there', async () => {
    await using connection = await RawHttp.open(server);
    const headers = Object.entries(BACKEND_JSON).map(([name, value]) => `${name}: ${value}\r\n`);
    connection.write(
      `POST ${publishes('/interests')} HTTP/1.1\r\nHost: x\r\n${headers.join('')}Content-Length: 20000\r\n\r\n`,
    );
    const announced = await connection.read();
    expect([announced.status, JSON.parse(announced.body).description]).toEqual([
      400,
      'The body is larger than 10 KiB',
    ]);
    const chunked = await ask(server, 'POST', publishes('/interests'), {
      headers: BACKEND_JSON,
      chunks: ['x'.repeat(10_000), 'y'.repeat(10_000)],
    });
    expect(chunked).toMatchObject(refusal(400, 'Bad request', 'The body is larger than 10 KiB'));
    expect(INSTANCE.id).toBeString();
  });
});
