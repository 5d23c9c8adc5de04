import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { RawClient } from '../../../testing/clients/raw-client.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { EMPTY, json, member, refused, subscriber, triggers } from './exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare();
});
afterAll(() => server[Symbol.asyncDispose]());

describe('POST /events', () => {
  it('answers a trigger with an empty JSON object of type JSON', async () => {
    expect(await triggers(server, { name: 'n', channel: 'a', data: 'd' })).toEqual(EMPTY);
    expect(await triggers(server, { name: 'n', channels: ['a', 'b'], data: 'd' })).toEqual(EMPTY);
  });

  it('sends the event to all subscribers of the named channels, and to nobody else', async () => {
    await using one = await subscriber(server, 'all-1');
    await using two = await subscriber(server, 'all-1', 'all-2');
    await using other = await subscriber(server, 'all-3');

    await triggers(server, { name: 'n', channels: ['all-1', 'all-2'], data: 'd' });

    expect(await one.receiveText()).toBe('{"event":"n","channel":"all-1","data":"d"}');
    await one.receiveNothing();
    expect(await two.receive()).toEqual({ event: 'n', channel: 'all-1', data: 'd' });
    expect(await two.receive()).toEqual({ event: 'n', channel: 'all-2', data: 'd' });
    await two.receiveNothing();
    await other.receiveNothing();
  });

  it('sends the event once to a channel that is named twice', async () => {
    await using client = await subscriber(server, 'twice');
    expect(
      await triggers(server, { name: 'n', channels: ['twice', 'twice', 'twice'], data: '1' }),
    ).toEqual(EMPTY);
    expect(await client.receive()).toMatchObject({ data: '1' });
    await client.receiveNothing();
  });

  it('reaches channels of every kind', async () => {
    const channels = ['kind', 'private-kind', 'private-encrypted-kind', 'cache-kind'];
    await using client = await subscriber(server, ...channels);
    await using user = await member(server, 'presence-kind', 'u');
    const all = [...channels, 'presence-kind'];
    expect(await triggers(server, { name: 'n', channels: all, data: 'd' })).toEqual(EMPTY);
    for (const channel of channels) {
      expect(await client.receive()).toEqual({ event: 'n', channel, data: 'd' });
    }
    expect(await user.receive()).toEqual({ event: 'n', channel: 'presence-kind', data: 'd' });
  });

  it('does not send the event to the connection of socket_id', async () => {
    await using publisher = await subscriber(server, 'except-1', 'except-2');
    await using listener = await subscriber(server, 'except-1', 'except-2');
    const { socketId: socket_id } = publisher;
    await triggers(server, {
      name: 'n',
      channels: ['except-1', 'except-2'],
      data: 'd',
      socket_id,
    });
    expect(await listener.receive()).toMatchObject({ channel: 'except-1' });
    expect(await listener.receive()).toMatchObject({ channel: 'except-2' });
    await publisher.receiveNothing();
  });

  it('accepts an unknown socket_id and null', async () => {
    await using client = await subscriber(server, 'nobody');
    for (const socket_id of ['1.1', null]) {
      expect(
        await triggers(server, { name: 'n', channel: 'nobody', data: 'd', socket_id }),
      ).toEqual(EMPTY);
      expect(await client.receive()).toMatchObject({ event: 'n' });
    }
  });

  it('succeeds without subscribers', async () => {
    expect(await triggers(server, { name: 'n', channel: 'empty-room', data: '' })).toEqual(EMPTY);
  });

  it('keeps the order of triggers', async () => {
    await using client = await subscriber(server, 'order');
    for (let at = 0; at < 20; at++) {
      await triggers(server, { name: `n${at}`, channel: 'order', data: '' });
    }
    for (let at = 0; at < 20; at++)
      expect(await client.receive()).toMatchObject({ event: `n${at}` });
  });

  it('passes on the name and the data unchanged', async () => {
    await using client = await subscriber(server, 'exact');
    const name = 'naïve "event" \\ \u0000\u2028 🎺';
    const data = '{"text":"tab\\t \\u00e9 é 🎺 \u2029","big":12345678901234567890}';
    await triggers(server, { name, channel: 'exact', data });
    expect(await client.receive()).toEqual({ event: name, channel: 'exact', data });
  });

  it('passes on a lone surrogate, which JSON can write and UTF-8 cannot', async () => {
    await using client = await subscriber(server, 'surrogate');
    expect(await triggers(server, '{"name":"n","channel":"surrogate","data":"\\ud800!"}')).toEqual(
      EMPTY,
    );
    expect(await client.receive()).toEqual({ event: 'n', channel: 'surrogate', data: '\ud800!' });
  });

  it('passes on data that is an empty string', async () => {
    await using client = await subscriber(server, 'empty-data');
    expect(await triggers(server, { name: 'n', channel: 'empty-data', data: '' })).toEqual(EMPTY);
    expect(await client.receiveText()).toBe('{"event":"n","channel":"empty-data","data":""}');
  });

  const values = [
    '12345678901234567890.10',
    '1e2',
    'true',
    'null',
    '[ 1,\n\t2 ]',
    '{ "z": 1, "a": {"10": 2, "9": 3}, "z": 4 }',
    '{"__proto__":{"x":1}}',
    '["\\u0041\\/", "]}"]',
  ];
  it.each(values)('passes on data that is not a string as its JSON text: %s', async (text) => {
    await using client = await subscriber(server, 'raw-json');
    expect(await triggers(server, `{"data" : ${text} ,"name":"n","channel":"raw-json"}`)).toEqual(
      EMPTY,
    );
    expect(await client.receive()).toEqual({ event: 'n', channel: 'raw-json', data: text });
  });

  it('uses the last of two keys with one name', async () => {
    await using client = await subscriber(server, 'repeated');
    await triggers(server, '{"name":"a","name":"b","channel":"repeated","data":[1],"data":[2]}');
    expect(await client.receive()).toEqual({ event: 'b', channel: 'repeated', data: '[2]' });
  });

  it('ignores unknown keys', async () => {
    const extra = { event_id: 'x', socket: 1, constructor: 'y', toString: 'z' };
    expect(await triggers(server, { name: 'n', channel: 'a', data: 'd', ...extra })).toEqual(EMPTY);
  });

  it('uses channels rather than channel if both are there', async () => {
    await using client = await subscriber(server, 'beside-1', 'beside-2');
    await triggers(server, {
      name: 'n',
      channels: ['beside-1'],
      channel: 'beside-2',
      data: 'd',
    });
    expect(await client.receive()).toMatchObject({ channel: 'beside-1' });
    await client.receiveNothing();
  });

  it('ignores the Content-Type', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', '']) {
      expect(
        await triggers(
          server,
          { name: 'n', channel: 'a', data: 'd' },
          { headers: { 'content-type': type } },
        ),
      ).toEqual(EMPTY);
    }
  });

  it('accepts an event whose name begins with client-', async () => {
    await using client = await subscriber(server, 'client-like');
    expect(await triggers(server, { name: 'client-x', channel: 'client-like', data: 'd' })).toEqual(
      EMPTY,
    );
    expect(await client.receive()).toMatchObject({ event: 'client-x' });
  });

  it.each(['pusher:x', 'pusher:', 'pusher_internal:x', 'pusher:subscription_succeeded'])(
    'refuses the reserved name %s, and sends nothing',
    async (name) => {
      await using client = await subscriber(server, 'reserved');
      expect(await triggers(server, { name, channel: 'reserved', data: '{}' })).toEqual(
        refused(400, 'name: names that begin with pusher: or pusher_internal: are reserved'),
      );
      await client.receiveNothing();
    },
  );

  it.each(['pusher', 'pusherx:a', 'Pusher:a', 'pusher-internal:a', ' pusher:a'])(
    'accepts %s, which only looks like a reserved name',
    async (name) => {
      expect(await triggers(server, { name, channel: 'a', data: '{}' })).toEqual(EMPTY);
    },
  );

  it('is cached by a cache channel, even if a connection was excluded', async () => {
    await using publisher = await RawClient.connect(server);
    await triggers(server, {
      name: 'n',
      channel: 'cache-remembers',
      data: 'd',
      socket_id: publisher.socketId,
    });
    await publisher.subscribe('cache-remembers');
    expect(await publisher.receive()).toEqual({
      event: 'n',
      channel: 'cache-remembers',
      data: 'd',
    });
  });
});

describe('POST /events with parameters in the query', () => {
  it('uses all of them', async () => {
    await using client = await subscriber(server, 'query-1');
    expect(
      await triggers(server, '', {
        query: { name: 'n', data: '{"a":"b c+d&e=ü"}', 'channels[]': 'query-1' },
      }),
    ).toEqual(EMPTY);
    expect(await client.receive()).toEqual({
      event: 'n',
      channel: 'query-1',
      data: '{"a":"b c+d&e=ü"}',
    });
  });

  it('uses channel, socket_id and info', async () => {
    await using publisher = await subscriber(server, 'query-2');
    await using user = await member(server, 'presence-query', 'u');
    const { socketId: socket_id } = publisher;
    await triggers(server, '', { query: { name: 'n', data: 'd', channel: 'query-2', socket_id } });
    await publisher.receiveNothing();
    expect(
      await triggers(server, '', {
        query: { name: 'n', data: 'd', channel: 'presence-query', info: 'user_count' },
      }),
    ).toEqual(json('{"channels":{"presence-query":{"user_count":1}}}'));
    expect(await user.receive()).toMatchObject({ event: 'n' });
  });

  it('uses them for what the body does not have', async () => {
    await using client = await subscriber(server, 'query-3');
    expect(
      await triggers(
        server,
        { name: null, data: 'd' },
        { query: { name: 'q', channel: 'query-3' } },
      ),
    ).toEqual(EMPTY);
    expect(await client.receive()).toEqual({ event: 'q', channel: 'query-3', data: 'd' });
  });

  it('prefers the body', async () => {
    await using client = await subscriber(server, 'body-wins', 'query-loses');
    expect(
      await triggers(
        server,
        { name: 'body', channel: 'body-wins', data: { from: 'body' } },
        { query: { name: 'query', data: 'query', 'channels[]': 'query-loses' } },
      ),
    ).toEqual(EMPTY);
    expect(await client.receive()).toEqual({
      event: 'body',
      channel: 'body-wins',
      data: '{"from":"body"}',
    });
    await client.receiveNothing();
  });

  it('refuses data that is an array', async () => {
    expect(
      await triggers(server, '', { query: { name: 'n', channel: 'a', 'data[]': 'x' } }),
    ).toEqual(refused(400, 'data: must be a string'));
  });
});

describe('POST /events refuses, and sends nothing,', () => {
  const good = { name: 'n', channels: ['refused'], data: 'd' };
  const cases: readonly (readonly [what: string, event: unknown, text: string])[] = [
    ['an empty body', '', 'channels: required, or channel'],
    ['an empty object', {}, 'channels: required, or channel'],
    ['no name', { ...good, name: undefined }, 'name: required'],
    ['a name that is null', { ...good, name: null }, 'name: required'],
    ['a name that is a number', { ...good, name: 1 }, 'name: must be a string'],
    ['an empty name', { ...good, name: '' }, 'name: must not be empty'],
    ['no data', { ...good, data: undefined }, 'data: required'],
    ['channels that is a string', { ...good, channels: 'refused' }, 'channels: must be an array'],
    ['no channel in channels', { ...good, channels: [] }, 'channels: must name at least one'],
    ['a lone channel that is null', { ...good, channels: [null] }, 'channels[0]: required'],
    ['a channel that is null', { ...good, channels: ['refused', null] }, 'channels[1]: required'],
    ['a channel that is a number', { ...good, channels: ['refused', 1] }, 'channels[1]: must be'],
    [
      'a channel that is an array',
      { name: 'n', channel: ['refused'], data: 'd' },
      'channel: must be a string',
    ],
    [
      'a channel with a bad character',
      { ...good, channels: ['refused', 'no space'] },
      'channels[1]: Invalid channel name "no space"',
    ],
    [
      'an empty channel name',
      { ...good, channels: ['refused', ''] },
      'channels[1]: Invalid channel name',
    ],
    [
      'a channel that begins with #',
      { ...good, channels: ['refused', '#x'] },
      'channels[1]: Invalid channel name "#x"',
    ],
    ...['', 'x', '1', '1.', '.1', '1.1.1', '1.1\n', ' 1.1', '-1.1', '1,1', '١.١'].map(
      (socket_id) =>
        [
          `the socket_id ${JSON.stringify(socket_id)}`,
          { ...good, socket_id },
          'socket_id: must be the id of a connection, like 123.456',
        ] as const,
    ),
    ['a socket_id that is a number', { ...good, socket_id: 1.1 }, 'socket_id: must be'],
    ['info that is not a string', { ...good, info: ['user_count'] }, 'info: must be a string'],
  ];
  it.each(cases)('%s', async (_, event, text) => {
    await using client = await subscriber(server, 'refused');
    const answer = await triggers(server, typeof event === 'string' ? event : Object(event));
    expect(answer).toEqual(refused(400, expect.stringContaining(text)));
    await client.receiveNothing();
  });
});
