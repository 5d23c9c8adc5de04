import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { pathOf, RawClient } from '../../../testing/clients/raw-client.ts';
import { RawHttp } from '../../../testing/clients/raw-http.ts';
import { signedTarget } from '../../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';

const PREFIX = '/realtime/v1';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({ channels: { pathPrefix: PREFIX } });
});
afterAll(() => server[Symbol.asyncDispose]());

async function request(method: string, target: string, body?: string) {
  await using connection = await RawHttp.open(server);
  return await connection.request({ method, target, ...(body === undefined ? {} : { body }) });
}

describe('a server with channels.pathPrefix', () => {
  const path = `/apps/${APP.id}/events`;
  const body = '{"name":"n","channel":"a","data":"d"}';

  it('accepts a signature over the path with the prefix', async () => {
    const target = signedTarget('POST', `${PREFIX}${path}`, { body });
    expect(await request('POST', target, body)).toMatchObject({ status: 200, body: '{}' });
  });

  it('accepts a signature over the path without it, as PHP makes it', async () => {
    const target = `${PREFIX}${signedTarget('POST', path, { body })}`;
    expect(await request('POST', target, body)).toMatchObject({ status: 200, body: '{}' });
  });

  it('accepts both behind a proxy that removes it', async () => {
    const target = signedTarget('POST', path, { body });
    expect(await request('POST', target, body)).toMatchObject({ status: 200, body: '{}' });
    const signedWithPrefix = signedTarget('POST', `${PREFIX}${path}`, { body });
    expect(await request('POST', signedWithPrefix.slice(PREFIX.length), body)).toMatchObject({
      status: 200,
      body: '{}',
    });
  });

  it('refuses a signature over a path with another prefix', async () => {
    const target = signedTarget('POST', `/realtime${path}`, { body });
    expect(await request('POST', `/v1${target}`, body)).toMatchObject({ status: 404 });
    expect(await request('POST', target.replace('/realtime', PREFIX), body)).toMatchObject({
      status: 401,
      body: expect.stringContaining('Invalid signature'),
    });
  });

  it('has every endpoint behind it, also those with a channel name in the path', async () => {
    for (const channel of ['a', 'a%2Cb']) {
      const target = `${PREFIX}${signedTarget('GET', `/apps/${APP.id}/channels/${channel}`)}`;
      expect(await request('GET', target)).toMatchObject({
        status: 200,
        body: '{"occupied":false}',
      });
    }
  });

  it.each([
    '/realtime',
    '/realtime/v1',
    '/realtime/v1/',
    '/realtime/v10/apps/3/channels',
    '/x/apps/3/channels',
  ])('has nothing at %s', async (target) => {
    expect(await request('GET', target)).toMatchObject({ status: 404, body: '404 NOT FOUND\n' });
  });

  it('answers health checks behind it and without it', async () => {
    for (const target of [`${PREFIX}/readyz`, '/readyz']) {
      expect(await request('GET', target)).toMatchObject({ status: 200, body: 'ready\n' });
    }
  });

  it('has its WebSockets behind it too', async () => {
    await using client = await RawClient.connect(server, { path: `${PREFIX}${pathOf()}` });
    await client.subscribe('a');
  });
});
