import { afterEach, beforeEach, describe, expect, it, jest, spyOn } from 'bun:test';
import type { Options } from '../options.ts';
import { Scripted } from '../scripted.fixture.ts';

/** A world whose backend answers what a test says. */
class World extends Scripted {
  readonly asked: { readonly url: string; readonly body: string; readonly init: RequestInit }[] =
    [];
  /** By request: a status, a body, or no answer. */
  readonly answers: (number | string | undefined)[] = [];
  private readonly fetched = spyOn(globalThis, 'fetch').mockImplementation((async (
    url: string,
    init: RequestInit,
  ) => {
    this.asked.push({ url, body: String(init.body), init });
    const answer = this.answers.shift();
    if (answer === undefined) throw new TypeError('no network');
    return typeof answer === 'number' ? new Response('', { status: answer }) : new Response(answer);
  }) as unknown as typeof fetch);

  connected(options: Partial<Options> = {}) {
    const pusher = this.client(options);
    this.socket.accept();
    return pusher;
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this.fetched.mockRestore();
  }
}

/** Lets promises settle. */
const settled = async () => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
};

let random: ReturnType<typeof spyOn>;
beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  random = spyOn(Math, 'random').mockReturnValue(1);
});
afterEach(() => {
  random.mockRestore();
  jest.useRealTimers();
});

describe('handlers', () => {
  it('all run, global ones first, and then the first error is thrown on', () => {
    using world = new World();
    const pusher = world.connected();
    const heard: unknown[] = [];
    const channel = pusher.subscribe('news');
    const fails = (name: string) => () => {
      heard.push(name);
      throw new Error(name);
    };
    channel.bind('e', fails('first')).bind('e', (data: unknown) => heard.push(data));
    channel.bind_global((name) => heard.push(`global ${name}`));
    pusher.bind('e', (data) => heard.push(['client', data]));

    expect(() => world.socket.says('e', 1, { channel: 'news' })).toThrow('first');
    expect(heard).toEqual(['global e', 'first', 1, ['client', 1]]);
  });

  it('of channels called like members of objects are no surprise', () => {
    using world = new World();
    const pusher = world.connected();
    const heard: unknown[] = [];
    for (const name of ['constructor', '__proto__', 'toString']) {
      pusher.subscribe(name).bind(name, (data: unknown) => heard.push(data));
      world.socket.says(name, name, { channel: name });
    }
    expect(heard).toEqual(['constructor', '__proto__', 'toString']);
    world.socket.says('valueOf', {}, { channel: 'hasOwnProperty' });
  });

  it('survive nonsense about their channel', () => {
    using world = new World();
    const pusher = world.connected();
    pusher.subscribe('presence-a');
    pusher.subscribe('a');
    for (const channel of ['a', 'presence-a']) {
      for (const event of ['subscription_succeeded', 'subscription_count', 'other']) {
        for (const data of ['null', '7', '{"presence":7}']) {
          world.socket.frame(JSON.stringify({ event: `pusher_internal:${event}`, channel, data }));
        }
      }
    }
    world.socket.frame('{"event":"pusher_internal:watchlist_events","data":"null"}');
    world.socket.frame('{"event":"pusher:signin_success"}');
    expect(pusher.connection.state).toBe('connected');
  });
});

describe('authorisation', () => {
  const channelAuthorization = {
    endpoint: '/auth',
    params: { a: 'b c' },
    paramsProvider: () => ({ d: 1 }),
    headers: { x: 'y' },
    headersProvider: () => ({ z: '1' }),
  };

  it('asks with the fields and headers of pusher-js', async () => {
    using world = new World();
    world.answers.push('{"auth":"key:1"}');
    const pusher = world.connected({ channelAuthorization });
    pusher.subscribe('private-ä');
    await settled();

    const [{ url, body, init } = { url: '', body: '', init: {} }] = world.asked;
    expect([url, body]).toEqual(['/auth', 'socket_id=1.1&channel_name=private-%C3%A4&a=b%20c&d=1']);
    expect(init).toMatchObject({
      method: 'POST',
      credentials: 'same-origin',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', x: 'y', z: '1' },
    });
    expect(world.socket.said()).toEqual([
      { event: 'pusher:subscribe', data: { auth: 'key:1', channel: 'private-ä' } },
    ]);
  });

  it('sends cookies if the application has replaced createXHR by one that does', async () => {
    using world = new World();
    const pusher = world.connected();
    let made = 0;
    pusher.runtime.createXHR = () => {
      made++;
      return { withCredentials: true };
    };
    for (const name of ['private-a', 'private-b']) pusher.subscribe(name);
    await settled();
    expect(world.asked.map(({ init }) => init.credentials)).toEqual(['include', 'include']);
    expect(made).toBe(1);
  });

  it.each([
    [
      403,
      403,
      'Unable to retrieve auth string from channel-authorization endpoint - received status: 403 from /pusher/auth.',
    ],
    [
      '<html>',
      200,
      'JSON returned from channel-authorization endpoint was invalid, yet status code was 200. Data was: <html>',
    ],
    [
      'null',
      200,
      'JSON returned from channel-authorization endpoint was invalid, yet status code was 200. Data was: null',
    ],
  ])('that is answered with %p fails for good', async (answer, status, error) => {
    using world = new World();
    world.answers.push(answer);
    const channel = world.connected().subscribe('private-a');
    const errors: unknown[] = [];
    channel.bind('pusher:subscription_error', (data: unknown) => errors.push(data));
    const { ready } = channel;
    await settled();
    expect(errors).toEqual([{ type: 'AuthError', status, error }]);
    await expect(ready).rejects.toMatchObject({ status, message: error });
    jest.advanceTimersByTime(60_000);
    await settled();
    expect(world.asked).toHaveLength(1);
  });

  it.each([[500], [503], [429], [undefined]])(
    'that is answered with %p is asked for three times more, after 2, 4 and 8 s',
    async (answer) => {
      using world = new World();
      world.answers.push(answer, answer, answer, answer);
      const channel = world.connected().subscribe('private-a');
      const statuses: unknown[] = [];
      channel.bind('pusher:subscription_error', ({ status }) => statuses.push(status));
      for (const [asked, pauseMs] of [2000, 4000, 8000].entries()) {
        await settled();
        jest.advanceTimersByTime(pauseMs - 1);
        expect(world.asked).toHaveLength(asked + 1);
        jest.advanceTimersByTime(1);
      }
      await settled();
      jest.advanceTimersByTime(60_000);
      await settled();
      expect(world.asked).toHaveLength(4);
      expect(statuses).toEqual(Array(4).fill(answer ?? 0));
    },
  );

  it('is asked for again only for a channel that is wanted, on a connection that is there', async () => {
    using world = new World();
    const pusher = world.connected();
    pusher.subscribe('private-a');
    await settled();
    pusher.unsubscribe('private-a');
    jest.advanceTimersByTime(2000);
    expect(world.asked).toHaveLength(1);
    pusher.subscribe('private-b');
    await settled();
    pusher.disconnect();
    jest.advanceTimersByTime(2000);
    expect(world.asked).toHaveLength(2);
  });

  it('for a connection that is gone is not used on the next one', async () => {
    using world = new World();
    const late: ((error: null, data: { auth: string }) => void)[] = [];
    const pusher = world.connected({
      channelAuthorization: { customHandler: (_, done) => late.push(done) },
    });
    pusher.subscribe('private-a');
    world.socket.ends(4200);
    jest.advanceTimersByTime(1000);
    world.socket.accept('2.2');
    late[0]?.(null, { auth: 'old' });
    late[1]?.(null, { auth: 'new' });
    expect(world.socket.said().map(({ data }) => data.auth)).toEqual(['new']);
  });
});

describe('a channel', () => {
  it('is ready when it is subscribed, with its members if it has some', async () => {
    using world = new World();
    const pusher = world.client({
      channelAuthorization: {
        customHandler: (_, done) => done(null, { auth: 'a', channel_data: '{"user_id":"ann"}' }),
      },
    });
    const channel = pusher.subscribe('presence-a');
    const { ready } = channel;
    world.socket.accept();
    await settled();
    world.socket.confirms('presence-a', { presence: { count: 1, hash: { ann: { age: 7 } } } });
    expect(await ready).toMatchObject({ count: 1, me: { id: 'ann', info: { age: 7 } } });
    expect(await channel.ready).toBe(await ready);
  });

  it('that the application left while it was pending does not come back with the next connection', () => {
    using world = new World();
    const pusher = world.connected();
    pusher.subscribe('news');
    pusher.unsubscribe('news');
    world.socket.ends(4200);
    jest.advanceTimersByTime(1000);
    world.socket.accept();
    expect([world.socket.said(), pusher.allChannels()]).toEqual([[], []]);
  });

  it('with a name for users, or without a cipher, is refused', () => {
    using world = new World();
    const pusher = world.client();
    expect(() => pusher.subscribe('#users')).toThrow('Cannot create a channel with name "#users".');
    expect(() => pusher.subscribe('private-encrypted-a')).toThrow('no nacl implementation');
  });
});

describe('a user', () => {
  const userAuthentication: NonNullable<Options['userAuthentication']> = {
    customHandler: (_, done) => done(null, { auth: 'a', user_data: '{"id":"ann"}' }),
  };

  it('signs in on each connection, and hears events of the server', async () => {
    using world = new World();
    const pusher = world.client({ userAuthentication });
    pusher.signin();
    const heard: unknown[] = [];
    pusher.user.bind('e', (data) => heard.push(data));
    for (const connection of ['first', 'second']) {
      world.socket.accept();
      expect(world.socket.said()).toEqual([
        { event: 'pusher:signin', data: { auth: 'a', user_data: '{"id":"ann"}' } },
      ]);
      world.socket.says('pusher:signin_success', { user_data: '{"id":"ann"}' });
      await pusher.user.signinDonePromise;
      const channel = '#server-to-user-ann';
      expect(world.socket.said()).toEqual([
        { event: 'pusher:subscribe', data: { auth: '', channel } },
      ]);
      world.socket.says('e', connection, { channel });
      world.socket.ends(4100);
      expect(pusher.user.user_data).toBeNull();
      jest.advanceTimersByTime(4000);
    }
    expect(heard).toEqual(['first', 'second']);
  });

  it('hears of a failed sign-in', async () => {
    using world = new World();
    world.answers.push(403);
    const pusher = world.connected();
    const errors: unknown[] = [];
    pusher.user.bind('pusher:signin_error', (data) => errors.push(data));
    pusher.signin();
    await settled();
    expect(errors).toMatchObject([{ type: 'AuthError', status: 403 }]);
    await pusher.user.signinDonePromise;
  });
});
