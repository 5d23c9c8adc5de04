import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { newApp, type TestApp } from '../../../testing/servers/test-app.ts';
import {
  batches,
  EMPTY,
  gets,
  JSON_TYPE,
  json,
  member,
  posts,
  refused,
  subscriber,
  triggers,
} from './exchange.ts';

const LIST = 'info should be a comma separated list of attributes';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare();
});
afterAll(() => server[Symbol.asyncDispose]());

describe('info of an app without subscription counts', () => {
  it('is answered for each distinct channel of a trigger, empty if the attribute does not apply', async () => {
    await using _one = await member(server, 'presence-a', '1');
    await using _again = await member(server, 'presence-a', '1');
    await using _two = await member(server, 'presence-a', '2');
    const channels = ['presence-a', 'b', 'presence-a', 'private-c', 'presence-empty'];
    expect(await triggers(server, { name: 'n', channels, data: 'd', info: 'user_count' })).toEqual(
      json(
        '{"channels":{"presence-a":{"user_count":2},"b":{},"private-c":{},"presence-empty":{"user_count":0}}}',
      ),
    );
  });

  it('is answered in the same shape for a trigger to one channel', async () => {
    expect(
      await triggers(server, { name: 'n', channel: 'b', data: 'd', info: 'user_count' }),
    ).toEqual(json('{"channels":{"b":{}}}'));
  });

  it('that is empty or null requests nothing', async () => {
    for (const info of ['', '  ', null]) {
      expect(await triggers(server, { name: 'n', channel: 'b', data: 'd', info })).toEqual(EMPTY);
      expect(await batches(server, [{ name: 'n', channel: 'b', data: 'd', info }])).toEqual(EMPTY);
    }
  });

  it('is answered by index for a batch, empty for events without info', async () => {
    await using _one = await member(server, 'presence-batch', '1');
    const event = { name: 'n', data: 'd' };
    expect(
      await batches(server, [
        { ...event, channel: 'presence-batch', info: 'user_count' },
        { ...event, channel: 'presence-batch' },
        { ...event, channel: 'b', info: 'user_count' },
        { ...event, channel: 'presence-batch', info: 'user_count' },
      ]),
    ).toEqual(json('{"batch":[{"user_count":1},{},{},{"user_count":1}]}'));
  });

  it('is answered for a channel with the name of a property of every object', async () => {
    const channels = ['__proto__', 'constructor'];
    expect(await triggers(server, { name: 'n', channels, data: 'd', info: 'user_count' })).toEqual(
      json('{"channels":{"__proto__":{},"constructor":{}}}'),
    );
  });

  it.each(['subscription_count', 'user_count,subscription_count'])(
    'with %s is refused with the name of the setting, and nothing is sent',
    async (info) => {
      await using client = await subscriber(server, 'off');
      await using user = await member(server, 'presence-off', 'u');
      const off = refused(
        400,
        expect.stringMatching(
          /subscription_count.*subscriptionCounts.*"Enable subscription count"/,
        ),
      );
      for (const channel of ['off', 'presence-off']) {
        const event = { name: 'n', channel, data: 'd' };
        expect(await triggers(server, { ...event, info })).toEqual(off);
        expect(await batches(server, [event, { ...event, info }])).toEqual({
          ...off,
          text: expect.stringMatching(/^batch\[1\]\.info: .*subscriptionCounts/),
        });
      }
      await client.receiveNothing();
      await user.receiveNothing();
    },
  );

  it('with subscription_count of a single channel is refused with the name of the setting', async () => {
    expect(await gets(server, '/channels/b', { info: 'subscription_count' })).toEqual(
      refused(400, expect.stringContaining('subscriptionCounts')),
    );
  });

  it.each([
    'x',
    'user_counts',
    'User_count',
    'cache',
    'user_count;x',
    'user_count,,',
    '__proto__',
    'constructor',
    'toString',
  ])('with %s refuses the whole trigger or batch; nothing is sent', async (info) => {
    await using client = await subscriber(server, 'unknown');
    const event = { name: 'n', channel: 'unknown', data: 'd' };
    expect(await triggers(server, { ...event, info })).toEqual(
      refused(400, expect.stringContaining(LIST)),
    );
    expect(await batches(server, [event, { ...event, info }])).toEqual(
      refused(400, expect.stringContaining(LIST)),
    );
    await client.receiveNothing();
  });

  it.each(['x', 'users', 'user_count x', '__proto__'])(
    'with the unknown attribute %s of a single channel is refused',
    async (info) => {
      expect(await gets(server, '/channels/presence-a', { info })).toEqual(
        refused(400, expect.stringContaining(LIST)),
      );
    },
  );

  it('counts the users of a single presence channel, each once', async () => {
    expect(await gets(server, '/channels/presence-single', { info: 'user_count' })).toEqual(
      json('{"occupied":false,"user_count":0}'),
    );
    await using _one = await member(server, 'presence-single', '1');
    await using _again = await member(server, 'presence-single', '1');
    expect(await gets(server, '/channels/presence-single', { info: 'user_count' })).toEqual(
      json('{"occupied":true,"user_count":1}'),
    );
  });

  it.each(['b', 'private-b', 'private-encrypted-b', 'cache-b', 'presencer'])(
    'refuses user_count of %s, which is not a presence channel',
    async (channel) => {
      expect(await gets(server, `/channels/${channel}`, { info: 'user_count' })).toEqual(
        refused(400, expect.stringContaining('user_count')),
      );
    },
  );

  it('shows what a cache channel remembers, and for how many seconds', async () => {
    const data = '{"text":"é \\" "}';
    await triggers(server, { name: 'n', channel: 'cache-shown', data });
    const answer = await gets(server, '/channels/cache-shown', { info: 'cache' });
    expect(answer).toMatchObject({ status: 200, type: JSON_TYPE });
    const shown = JSON.parse(answer.text);
    expect(shown).toEqual({ occupied: false, cache: { data, ttl: expect.any(Number) } });
    expect(shown.cache.ttl).toBeInteger();
    expect(shown.cache.ttl).toBeWithin(1790, 1801);
  });

  it('shows the last of several events', async () => {
    const event = { name: 'n', channel: 'private-cache-last' };
    await batches(server, [
      { ...event, data: 'first' },
      { ...event, data: 'last' },
    ]);
    const { text } = await gets(server, '/channels/private-cache-last', { info: 'cache' });
    expect(JSON.parse(text)).toMatchObject({ cache: { data: 'last' } });
  });

  it('shows the data that the deprecated trigger sent', async () => {
    await posts(server, '/channels/cache-raw/events', 'raw', { query: { name: 'n' } });
    const { text } = await gets(server, '/channels/cache-raw', { info: 'cache' });
    expect(JSON.parse(text)).toMatchObject({ cache: { data: 'raw' } });
  });

  it.each(['cache-e', 'private-cache-e', 'presence-cache-e', 'private-encrypted-cache-e'])(
    'shows null where %s remembers nothing',
    async (channel) => {
      expect(await gets(server, `/channels/${channel}`, { info: 'cache' })).toEqual(
        json('{"occupied":false,"cache":null}'),
      );
    },
  );

  it.each(['b', 'private-b', 'presence-b', 'cache', 'x-cache-b', 'presence-x-cache-b'])(
    'refuses cache of %s, which is not a cache channel',
    async (channel) => {
      expect(await gets(server, `/channels/${channel}`, { info: 'cache' })).toEqual(
        refused(400, expect.stringContaining('cache')),
      );
    },
  );

  it('may name several attributes, with spaces after the commas', async () => {
    await using _one = await member(server, 'presence-cache-both', '1');
    expect(
      await gets(server, '/channels/presence-cache-both', { info: 'cache, user_count' }),
    ).toMatchObject({ status: 200 });
    const { text } = await gets(server, '/channels/presence-cache-both', {
      info: 'user_count, cache',
    });
    expect(JSON.parse(text)).toEqual({ occupied: true, user_count: 1, cache: null });
  });
});

describe('info of an app with subscription counts', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await newApp(server, { subscriptionCounts: true });
  });

  /** Subscribers get the count too, which is not tested here. */
  const listeners = async (channel: string, count: number): Promise<AsyncDisposableStack> => {
    const stack = new AsyncDisposableStack();
    for (let at = 0; at < count; at++) stack.use(await subscriber(app, channel));
    return stack;
  };

  it('has subscription_count for a trigger, but not for presence channels', async () => {
    await using _three = await listeners('counted', 3);
    await using _user = await member(app, 'presence-counted', 'u');
    const channels = ['counted', 'presence-counted', 'empty', 'private-empty'];
    const event = { name: 'n', channels, data: 'd' };
    expect(await triggers(app, { ...event, info: 'subscription_count' })).toEqual(
      json(
        '{"channels":{"counted":{"subscription_count":3},"presence-counted":{},"empty":{"subscription_count":0},"private-empty":{"subscription_count":0}}}',
      ),
    );
  });

  it.each(['subscription_count,user_count', 'user_count, subscription_count'])(
    '%s has for each channel of a trigger what applies to it',
    async (info) => {
      await using _two = await listeners('both', 2);
      await using _user = await member(app, 'presence-both', 'u');
      await using _again = await member(app, 'presence-both', 'u');
      const event = { name: 'n', channels: ['both', 'presence-both'], data: 'd', info };
      expect(await triggers(app, event)).toEqual(
        json('{"channels":{"both":{"subscription_count":2},"presence-both":{"user_count":1}}}'),
      );
    },
  );

  it('has for each channel of a batch what applies to it', async () => {
    await using _one = await listeners('batched', 1);
    await using _user = await member(app, 'presence-batched', 'u');
    const event = { name: 'n', data: 'd', info: 'subscription_count,user_count' };
    expect(
      await batches(app, [
        { ...event, channel: 'batched' },
        { ...event, channel: 'presence-batched' },
        { ...event, channel: 'presence-batched', info: 'subscription_count' },
        { name: 'n', data: 'd', channel: 'batched' },
      ]),
    ).toEqual(json('{"batch":[{"subscription_count":1},{"user_count":1},{},{}]}'));
  });

  it('counts the subscriptions of a single channel', async () => {
    const query = { info: 'subscription_count' };
    expect(await gets(app, '/channels/one', query)).toEqual(
      json('{"occupied":false,"subscription_count":0}'),
    );
    await using _two = await listeners('one', 2);
    expect(await gets(app, '/channels/one', query)).toEqual(
      json('{"occupied":true,"subscription_count":2}'),
    );
  });

  it('counts the subscriptions of a cache channel beside what it remembers', async () => {
    const { text } = await gets(app, '/channels/cache-c', { info: 'cache,subscription_count' });
    expect(JSON.parse(text)).toEqual({ occupied: false, subscription_count: 0, cache: null });
  });

  it.each(['subscription_count', 'user_count,subscription_count'])(
    '%s of a single presence channel is refused',
    async (info) => {
      expect(await gets(app, '/channels/presence-x', { info })).toEqual(
        refused(400, expect.stringContaining('subscription_count')),
      );
    },
  );

  it('with subscription_count is refused for a listing', async () => {
    expect(await gets(app, '/channels', { info: 'subscription_count' })).toEqual(
      refused(400, expect.stringContaining(LIST)),
    );
  });
});
