import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import {
  authParameters,
  type Given,
  signedQuery,
  styles,
} from '../../../src/transports/channels-api/library-signing.fixture.ts';
import { RawClient } from '../../../testing/clients/raw-client.ts';
import { RawHttp } from '../../../testing/clients/raw-http.ts';
import { api, signedTarget } from '../../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { gets, JSON_TYPE, json, member, refused, seen, subscriber, triggers } from './exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    moreApps: [{ id: '4', keys: [{ key: 'other-key', secret: 'other-secret' }] }],
  });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Waits until the server has noticed the end of these connections. */
async function vacated(channel: string): Promise<void> {
  const deadline = Date.now() + 4000;
  for (;;) {
    const { text } = await gets(server, `/channels/${channel}`);
    if (text === '{"occupied":false}') return;
    if (Date.now() > deadline) throw new Error(`${channel} is still occupied`);
  }
}

/** The parsed answer to `GET /channels`: its order is not specified. */
async function listed(query: Record<string, string>): Promise<unknown> {
  const answer = await gets(server, '/channels', query);
  expect(answer).toMatchObject({ status: 200, type: JSON_TYPE });
  return JSON.parse(answer.text);
}

describe('GET /channels', () => {
  it('lists nothing while no channel is occupied', async () => {
    expect(await gets(server, '/channels', { filter_by_prefix: 'nothing-' })).toEqual(
      json('{"channels":{}}'),
    );
  });

  it('lists the occupied channels of every kind, each with an empty object', async () => {
    const channels = ['list-a', 'private-list', 'private-encrypted-list', 'cache-list'];
    await using _client = await subscriber(server, ...channels);
    await using _user = await member(server, 'presence-list', 'u');
    expect(await listed({})).toEqual({
      channels: Object.fromEntries([...channels, 'presence-list'].map((name) => [name, {}])),
    });
    expect(await listed({ info: '' })).toEqual(await listed({}));
  });

  it('lists a channel while it has subscriptions, and not because of a trigger', async () => {
    const query = { filter_by_prefix: 'cache-comes' };
    await triggers(server, { name: 'n', channel: 'cache-comes', data: 'd' });
    expect(await gets(server, '/channels', query)).toEqual(json('{"channels":{}}'));
    await using client = await RawClient.connect(server);
    await client.subscribe('cache-comes');
    await client.receive();
    expect(await gets(server, '/channels', query)).toEqual(json('{"channels":{"cache-comes":{}}}'));
    client.send({ event: 'pusher:unsubscribe', data: { channel: 'cache-comes' } });
    await client.receiveNothing();
    expect(await gets(server, '/channels', query)).toEqual(json('{"channels":{}}'));
  });

  it('no longer lists a channel after its last connection has ended', async () => {
    {
      await using _client = await subscriber(server, 'goes');
      expect(await gets(server, '/channels', { filter_by_prefix: 'goes' })).toEqual(
        json('{"channels":{"goes":{}}}'),
      );
    }
    await vacated('goes');
    expect(await gets(server, '/channels', { filter_by_prefix: 'goes' })).toEqual(
      json('{"channels":{}}'),
    );
  });

  it('lists the channels that begin with filter_by_prefix, character by character', async () => {
    await using _client = await subscriber(server, 'pre.fix', 'pre.fix-more', 'preXfix', 'Pre.fix');
    expect(await listed({ filter_by_prefix: 'pre.fix' })).toEqual({
      channels: { 'pre.fix': {}, 'pre.fix-more': {} },
    });
    expect(await listed({ filter_by_prefix: 're.fix' })).toEqual({ channels: {} });
    expect(await listed({ filter_by_prefix: 'pre.fix-more-' })).toEqual({ channels: {} });
  });

  it('lists only presence channels with the prefix presence-', async () => {
    await using _client = await subscriber(server, 'presence', 'presencer', 'private-presence-');
    await using _user = await member(server, 'presence-only', 'u');
    expect(await listed({ filter_by_prefix: 'presence-' })).toEqual({
      channels: { 'presence-only': {} },
    });
  });

  it('counts the users of presence channels if user_count is requested', async () => {
    await using _one = await member(server, 'presence-count-1', 'a');
    await using _again = await member(server, 'presence-count-1', 'a');
    await using _two = await member(server, 'presence-count-1', 'b');
    await using _three = await member(server, 'presence-count-2', 'a');
    const channels = {
      'presence-count-1': { user_count: 2 },
      'presence-count-2': { user_count: 1 },
    };
    for (const filter_by_prefix of ['presence-', 'presence-count-']) {
      for (const info of ['user_count', ' user_count , user_count']) {
        expect(await listed({ filter_by_prefix, info })).toEqual({ channels });
      }
    }
  });

  describe.each(styles)('of the library of $library', (style) => {
    const asks = async (path: string, query: readonly Given[]) => {
      const whole = [...authParameters(APP.key, Math.floor(Date.now() / 1000)), ...query];
      const signed = signedQuery(style, APP.secret, 'GET', path, whole);
      return await seen(await fetch(`http://127.0.0.1:${server.port}${path}?${signed}`));
    };
    const path = `/apps/${APP.id}/channels`;

    it('may ask for attributes in an array', async () => {
      await using _one = await member(server, 'presence-cache-array', 'a');
      const info = ['user_count', 'cache'];
      const counted = '{"occupied":true,"user_count":1,"cache":null}';
      expect(await asks(`${path}/presence-cache-array`, [['info', info]])).toEqual(json(counted));
      const prefix = ['filter_by_prefix', 'presence-cache-array'] as const;
      expect(await asks(path, [prefix, ['info', ['user_count']]])).toEqual(
        json('{"channels":{"presence-cache-array":{"user_count":1}}}'),
      );
      expect(await asks(path, [prefix, ['info', ['user_count', 'nope']]])).toEqual(
        refused(400, expect.stringContaining('"nope" is not available here')),
      );
    });

    it('may give one prefix in an array, and no more', async () => {
      await using _one = await subscriber(server, 'array-prefix');
      expect(await asks(path, [['filter_by_prefix', ['array-']]])).toEqual(
        json('{"channels":{"array-prefix":{}}}'),
      );
      expect(await asks(path, [['filter_by_prefix', ['array-', 'b']]])).toEqual(
        refused(400, 'filter_by_prefix: at most one, got 2'),
      );
    });
  });

  it.each(['', 'p', 'presence', 'private-', 'Presence-', ' presence-'])(
    'refuses user_count with the prefix "%s", which other channels may have',
    async (filter_by_prefix) => {
      const query = {
        info: 'user_count',
        ...(filter_by_prefix === '' ? {} : { filter_by_prefix }),
      };
      expect(await gets(server, '/channels', query)).toEqual(
        refused(400, expect.stringContaining('user_count')),
      );
    },
  );

  it.each(['subscription_count', 'cache', 'user_count,subscription_count', 'x', 'user_counts'])(
    'refuses the attribute %s',
    async (info) => {
      expect(await gets(server, '/channels', { filter_by_prefix: 'presence-', info })).toEqual(
        refused(
          400,
          expect.stringContaining('info should be a comma separated list of attributes'),
        ),
      );
    },
  );

  it('lists the channels of its own app only', async () => {
    await using _mine = await subscriber(server, 'whose');
    const theirs = await api(server, 'GET', '/apps/4/channels', {
      key: 'other-key',
      secret: 'other-secret',
    });
    expect(await seen(theirs)).toEqual(json('{"channels":{}}'));
  });

  it('lists a channel with the name of a property of every object', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
    await using _client = await subscriber(server, ...names);
    for (const name of names) {
      expect(await gets(server, '/channels', { filter_by_prefix: name })).toEqual(
        json(`{"channels":{"${name}":{}}}`),
      );
      expect(await gets(server, `/channels/${name}`)).toEqual(json('{"occupied":true}'));
    }
  });
});

describe('GET /channels/NAME', () => {
  it('returns whether a channel is occupied, even if it never existed', async () => {
    expect(await gets(server, '/channels/single')).toEqual(json('{"occupied":false}'));
    await using _client = await subscriber(server, 'single');
    expect(await gets(server, '/channels/single')).toEqual(json('{"occupied":true}'));
    expect(await gets(server, '/channels/single', { info: '' })).toEqual(json('{"occupied":true}'));
  });

  it('accepts a plain or percent-encoded name', async () => {
    await using _client = await subscriber(server, 'a_-=@,.;Z9');
    for (const path of ['a_-=@,.;Z9', 'a_-%3D%40%2C.%3BZ9', '%61_%2d%3d%40%2c%2e%3b%5a%39']) {
      expect(await gets(server, `/channels/${path}`)).toEqual(json('{"occupied":true}'));
    }
  });

  it.each(['a%20b', 'a%2Fb', 'a%', 'a!', '%C3%A9', '%23x', '%00', 'a%0A', 'x'.repeat(201)])(
    'refuses the name %s',
    async (path) => {
      expect(await gets(server, `/channels/${path}`)).toEqual(
        refused(400, expect.stringContaining('Invalid channel name')),
      );
    },
  );

  it('accepts a name of 200 characters', async () => {
    expect(await gets(server, `/channels/${'x'.repeat(200)}`)).toEqual(json('{"occupied":false}'));
  });
});

describe('GET /channels/NAME/users', () => {
  it('lists each user of a presence channel once, in the order of joining', async () => {
    await using _one = await member(server, 'presence-users', 'b');
    await using _two = await member(server, 'presence-users', 'a"é');
    await using _again = await member(server, 'presence-users', 'b');
    expect(await gets(server, '/channels/presence-users/users')).toEqual(
      json('{"users":[{"id":"b"},{"id":"a\\"é"}]}'),
    );
  });

  it('lists nobody in an empty channel', async () => {
    expect(await gets(server, '/channels/presence-nobody/users')).toEqual(json('{"users":[]}'));
  });

  it.each([
    'users-of',
    'private-users',
    'private-encrypted-users',
    'cache-users',
    'presence',
    'presencer-a',
  ])('refuses %s, which is not a presence channel', async (channel) => {
    expect(await gets(server, `/channels/${channel}/users`)).toEqual(
      refused(400, expect.stringContaining(`${channel} is not a presence channel`)),
    );
  });

  it('refuses parameters, and names them', async () => {
    expect(await gets(server, '/channels/presence-a/users', { info: 'user_count' })).toEqual(
      refused(400, 'The following query string parameters are extraneous: info'),
    );
    expect(
      await gets(server, '/channels/presence-a/users', { info: '', filter_by_prefix: 'x' }),
    ).toEqual(
      refused(400, 'The following query string parameters are extraneous: info, filter_by_prefix'),
    );
  });

  it('shows pages of 1 to 1,000 users, with their infos if asked, in the order of joining', async () => {
    const channel = 'presence-pages';
    await using _one = await member(server, channel, 'b', '{ "n": 1 }');
    await using _two = await member(server, channel, 'a"é');
    await using _three = await member(server, channel, 'c', '{}');
    const page = async (query: Record<string, string>) => {
      const { status, text } = await gets(server, `/channels/${channel}/users`, query);
      expect(status).toBe(200);
      return text;
    };
    const first = await page({ limit: '2', info: 'user_info' });
    const { next } = JSON.parse(first);
    expect(first).toBe(
      `{"users":[{"id":"b","user_info":{ "n": 1 }},{"id":"a\\"é","user_info":null}],"next":"${next}"}`,
    );
    expect(await page({ limit: '2', after: next })).toBe('{"users":[{"id":"c"}]}');
    expect(await page({ after: next, info: 'user_info' })).toBe(
      '{"users":[{"id":"c","user_info":{}}]}',
    );
    expect(await page({ limit: '1000' })).toBe('{"users":[{"id":"b"},{"id":"a\\"é"},{"id":"c"}]}');
    expect(await page({ info: 'user_info' })).toContain('{"id":"c","user_info":{}}');
  });

  it.each([
    ['0', 'limit: must be a whole number of 1 to 1000'],
    ['1001', 'limit: must be a whole number of 1 to 1000'],
    ['-1', 'limit: must be a whole number of 1 to 1000'],
    ['', 'limit: must be a whole number of 1 to 1000'],
    ['1.5', 'limit: must be a whole number of 1 to 1000'],
  ])('refuses %j as the number of users of a page', async (limit, why) => {
    expect(await gets(server, '/channels/presence-a/users', { limit })).toEqual(refused(400, why));
  });

  it.each(['', 'x', '-1', '12345678901234567', '1e3'])(
    'refuses %j as the place where a page begins',
    async (after) => {
      expect(await gets(server, '/channels/presence-a/users', { after })).toEqual(
        refused(400, 'after: must be the next of an earlier answer'),
      );
    },
  );

  it('accepts the MD5 of an empty body, which Python sends with every request', async () => {
    expect(
      await gets(server, '/channels/presence-nobody/users', {
        body_md5: 'd41d8cd98f00b204e9800998ecf8427e',
      }),
    ).toEqual(json('{"users":[]}'));
  });
});

describe('GET /channels/NAME/users/USER', () => {
  it('says whether a user is in a presence channel, with its info', async () => {
    const channel = 'presence-one';
    await using _one = await member(server, channel, 'ann/é', '{ "name": "Ann" }');
    await using _two = await member(server, channel, 'bob');
    const user = async (id: string) =>
      await gets(server, `/channels/${channel}/users/${encodeURIComponent(id)}`);
    expect(await user('ann/é')).toEqual(
      json('{"id":"ann/é","present":true,"user_info":{ "name": "Ann" }}'),
    );
    expect(await user('bob')).toEqual(json('{"id":"bob","present":true,"user_info":null}'));
    expect(await user('eve"')).toEqual(json('{"id":"eve\\"","present":false}'));
  });

  it('refuses parameters, other channels and other methods', async () => {
    expect(await gets(server, '/channels/presence-a/users/ann', { info: 'user_info' })).toEqual(
      refused(400, 'The following query string parameters are extraneous: info'),
    );
    expect(await gets(server, '/channels/private-a/users/ann')).toEqual(
      refused(400, expect.stringContaining('private-a is not a presence channel')),
    );
    const post = await api(server, 'POST', `/apps/${APP.id}/channels/presence-a/users/ann`);
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

describe('HEAD', () => {
  const paths = ['/channels', '/channels/a', '/channels/presence-a/users', '/channels/a/stats'];

  /** Also of paths without a signature. */
  async function asked(method: string, target: string) {
    await using connection = await RawHttp.open(server);
    const { status, headers, body } = await connection.request({ method, target });
    expect(Date.parse(headers.get('date') ?? '')).not.toBeNaN();
    const framing = ['date', 'content-length', 'transfer-encoding'];
    const rest = [...headers].filter(([name]) => !framing.includes(name)).toSorted();
    return { status, headers: rest, length: headers.get('content-length'), body };
  }

  it('is answered as GET is, without the body, signed as HEAD or as GET', async () => {
    const signed = paths.map((path) => [path, signedTarget] as const);
    for (const [path, sign] of signed) {
      const target = `/apps/${APP.id}${path}`;
      const get = await asked('GET', sign('GET', target));
      expect(get.length).toBe(String(get.body.length));
      for (const method of ['HEAD', 'GET']) {
        expect(await asked('HEAD', sign(method, target))).toEqual({ ...get, body: '' });
      }
    }
    expect(await asked('HEAD', signedTarget('POST', `/apps/${APP.id}/channels`))).toMatchObject({
      status: 401,
      body: '',
    });
    for (const target of ['/timeline/v2/xhr/1', '/sdk/resume.js', '/', `/app/${APP.key}`]) {
      const { status, headers } = await asked('GET', target);
      expect(await asked('HEAD', target)).toMatchObject({ status, headers, body: '' });
    }
  });

  it('says how long a long answer would be, and keeps none of it', async () => {
    const client = await subscriber(server);
    const names = Array.from({ length: 200 }, (_, n) => `head-${n}-${'x'.repeat(150)}`);
    for (const name of names) await client.subscribe(name);
    const query = { filter_by_prefix: 'head-' };
    const target = `/apps/${APP.id}/channels`;
    const get = await asked('GET', signedTarget('GET', target, { query }));
    expect(get.body.length).toBeGreaterThan(30_000);

    const head = await asked('HEAD', signedTarget('HEAD', target, { query }));
    expect(head).toEqual({ ...get, length: String(get.body.length), body: '' });
  });
});
