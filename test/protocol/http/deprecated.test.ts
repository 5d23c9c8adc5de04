import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { api } from '../../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { gets, json, member, posts, refused, subscriber } from './exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare();
});
afterAll(() => server[Symbol.asyncDispose]());

const ACCEPTED = { status: 202, type: null, text: '' };

describe('POST /channels/NAME/events, deprecated,', () => {
  it('answers 202 with an empty body', async () => {
    const query = { name: 'n' };
    expect(await posts(server, '/channels/a/events', 'd', { query })).toEqual(ACCEPTED);
    const response = await api(server, 'POST', `/apps/${APP.id}/channels/a/events`, {
      query,
      body: 'd',
    });
    expect(response.headers.get('content-length')).toBe('0');
  });

  it('sends the body unchanged', async () => {
    await using client = await subscriber(server, 'raw');
    for (const body of ['{"a": 1}', 'not JSON', '', '\ufeffé🎺\u0000"\\', 'null']) {
      expect(await posts(server, '/channels/raw/events', body, { query: { name: 'n' } })).toEqual(
        ACCEPTED,
      );
      expect(await client.receive()).toEqual({ event: 'n', channel: 'raw', data: body });
    }
  });

  it('does not send to the connection of socket_id', async () => {
    await using publisher = await subscriber(server, 'raw-except');
    await using listener = await subscriber(server, 'raw-except');
    const query = { name: 'n', socket_id: publisher.socketId };
    expect(await posts(server, '/channels/raw-except/events', 'd', { query })).toEqual(ACCEPTED);
    expect(await listener.receive()).toMatchObject({ event: 'n' });
    await publisher.receiveNothing();
  });

  it.each([
    ['a lone continuation byte', [0x61, 0x80]],
    ['a cut sequence', [0xe2, 0x82]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['an overlong slash', [0xc0, 0xaf]],
  ])('refuses a body that is not UTF-8: %s', async (_, bytes) => {
    await using client = await subscriber(server, 'not-utf-8');
    const query = { name: 'n' };
    expect(
      await posts(server, '/channels/not-utf-8/events', new Uint8Array(bytes), { query }),
    ).toEqual(refused(400, 'The body is not valid UTF-8'));
    await client.receiveNothing();
  });

  it.each([
    ['no name', {}, 'name: required'],
    ['an empty name', { name: '' }, 'name: must not be empty'],
    ['a reserved name', { name: 'pusher:x' }, 'name: names that begin with pusher:'],
    ['a name that is too long', { name: 'n'.repeat(201) }, 'name: at most 200 characters'],
    ['a bad socket_id', { name: 'n', socket_id: '1' }, 'socket_id: must be'],
  ])('refuses %s', async (_, query, text) => {
    await using client = await subscriber(server, 'raw-refused');
    expect(await posts(server, '/channels/raw-refused/events', 'd', { query })).toEqual(
      refused(400, expect.stringContaining(text)),
    );
    await client.receiveNothing();
  });

  it('refuses a channel with a bad name', async () => {
    expect(await posts(server, '/channels/a%20b/events', 'd', { query: { name: 'n' } })).toEqual(
      refused(400, expect.stringContaining('Invalid channel name "a b"')),
    );
  });

  it('accepts 10240 bytes of data, and refuses one more', async () => {
    await using client = await subscriber(server, 'raw-size');
    const query = { name: 'n' };
    const most = `${'é'.repeat(5119)}ab`;
    expect(await posts(server, '/channels/raw-size/events', most, { query })).toEqual(ACCEPTED);
    expect(await client.receive()).toMatchObject({ data: most });
    expect(await posts(server, '/channels/raw-size/events', `${most}c`, { query })).toMatchObject({
      status: 413,
      text: expect.stringContaining('exceeds the allowed maximum (10240 bytes)'),
    });
    await client.receiveNothing();
  });
});

describe('GET /channels/NAME/stats, deprecated,', () => {
  it('counts connections', async () => {
    expect(await gets(server, '/channels/stats/stats')).toEqual(
      json('{"occupied":false,"user_count":0,"connection_count":0}'),
    );
    await using _one = await subscriber(server, 'stats');
    await using _two = await subscriber(server, 'stats');
    expect(await gets(server, '/channels/stats/stats')).toEqual(
      json('{"occupied":true,"user_count":0,"connection_count":2}'),
    );
  });

  it('counts users apart from connections', async () => {
    await using _one = await member(server, 'presence-stats', 'a');
    await using _two = await member(server, 'presence-stats', 'b');
    await using _again = await member(server, 'presence-stats', 'b');
    expect(await gets(server, '/channels/presence-stats/stats')).toEqual(
      json('{"occupied":true,"user_count":2,"connection_count":3}'),
    );
  });

  it('refuses a channel with a bad name', async () => {
    expect(await gets(server, '/channels/a!/stats')).toEqual(
      refused(400, expect.stringContaining('Invalid channel name')),
    );
  });
});
