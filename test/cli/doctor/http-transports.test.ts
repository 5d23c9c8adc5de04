import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { holdingProxy, httpAnswer, proxy } from './broken-servers.ts';
import { BACKEND, examine, warned } from './examine.ts';

describe('the doctor examines the HTTP transports of a server and', () => {
  let server: Fanfare;
  beforeAll(async () => {
    server = await startFanfare();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('reports how fast events arrive over the HTTP transports', async () => {
    const found = await examine(server, { ...BACKEND, idle: '0.1' });
    const arrived = /^opens after \d+ ms, and an event arrives after \d+ ms$/;
    expect(found.of('xhr-streaming')?.detail).toMatch(arrived);
    expect(found.of('xhr-polling')?.detail).toMatch(arrived);
    expect(found.of('xhr-idle')?.detail).toMatch(/stay open for 0.1 s/);
    const asClient = await examine(server);
    expect(asClient.of('xhr-polling')?.detail).toMatch(/the answer to a message arrives/);
  });

  it('recognises a proxy that buffers streams, and names its settings', async () => {
    await using broken = await holdingProxy(server, {
      requests: /POST.*xhr_streaming/,
      buffers: true,
    });
    const found = await examine(broken, { ...BACKEND, timeout: '2' });
    expect(found.with('warning')).toEqual(['xhr-streaming']);
    expect(found.of('xhr-streaming')).toMatchObject(
      warned(
        'is buffered: .*the first message does not arrive within 2 s; it arrives when the answer ends',
        /4 s .*xhr_polling(.|\n)*proxy_buffering off.*X-Accel-Buffering/,
      ),
    );
    expect(found.of('xhr-polling')).toMatchObject({ result: 'ok' });
  });

  it('detects a proxy that cuts what takes long', async () => {
    await using broken = await holdingProxy(server, {
      requests: /POST.*xhr_streaming/,
      cutsBehind: 'connection_established',
    });
    const found = await examine(broken, BACKEND);
    expect(found.with('warning')).toEqual(['xhr-streaming']);
    expect(found.of('xhr-streaming')).toMatchObject(
      warned('xhr_streaming is cut before the answer to a message', 'proxy_read_timeout 60s'),
    );
  });

  it('detects a proxy that cuts polls which are not answered yet', async () => {
    let polls = 0;
    await using broken = await proxy(server, {
      // The first two are answered at once, and every later one by nobody.
      instead: (request) => (/ \S+\/xhr\?/.test(request) && ++polls > 2 ? '' : undefined),
    });
    const found = await examine(broken, BACKEND);
    expect(found.with('warning')).toEqual(['xhr-polling']);
    expect(found.of('xhr-polling')).toMatchObject(
      warned('xhr_polling is cut before the answer to a message', 'timeout server 60s'),
    );
  });

  it('detects a proxy that cuts an idle stream', async () => {
    await using broken = await holdingProxy(server, {
      requests: /\/xhr_streaming/,
      cutsBehind: 'doctor-fallback',
    });
    const found = await examine(broken, { ...BACKEND, idle: '0.5' });
    expect(found.with('warning')).toEqual(['xhr-idle']);
    expect(found.of('xhr-idle')).toMatchObject(warned('is cut within 0.5 s', 'every 25 s'));
  });

  it.each([
    ['OPTIONS', '403 Forbidden', ['xhr-preflight'], 'cannot connect: .*403 from squid', 'OPTIONS'],
    ['OPTIONS', '200 OK', ['xhr-preflight'], 'no Access-Control-Allow-Origin', 'neither answer'],
    ['OPTIONS', '301 Moved', ['xhr-preflight'], 'redirected', 'https'],
    ['OPTIONS', '404 Not Found', ['xhr-preflight'], 'there is no /pusher/app/', 'not forward'],
    ['POST', '403 Forbidden', ['xhr-streaming', 'xhr-polling'], '403 from squid', 'POST'],
    ['POST', '502 Bad Gateway', ['xhr-streaming', 'xhr-polling'], 'a proxy answers', 'runs'],
    ['POST', '200 OK', ['xhr-streaming', 'xhr-polling'], '200 from squid, "no"', 'POST'],
  ])(
    'names what refuses the HTTP transports: %s with %s',
    async (method, status, names, detail, advice) => {
      const answer = httpAnswer(status, 'no', {
        Server: 'squid',
        ...(status.startsWith('301') ? { Location: 'https://example.test/' } : {}),
      });
      await using broken = await proxy(server, {
        instead: (request) => (request.startsWith(`${method} /pusher/app/`) ? answer : undefined),
      });
      const found = await examine(broken, BACKEND);
      expect<readonly string[]>(found.with('warning')).toEqual(names);
      for (const name of found.with('warning')) {
        expect(found.of(name)).toMatchObject(warned(detail, advice));
      }
      expect(found.code).toBe(0);
    },
  );

  it('reports which requests of a session do not reach its server', async () => {
    await using broken = await proxy(server, {
      instead: (request) =>
        request.includes('/xhr_send') ? httpAnswer('404 Not Found', 'No such session') : undefined,
    });
    const found = await examine(broken, { ...BACKEND, timeout: '1' });
    expect(found.of('xhr-polling')).toMatchObject(
      warned('what clients send is answered with 404, "No such session"', 'different servers'),
    );
  });
});
