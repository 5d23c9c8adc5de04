import { afterEach, beforeEach, describe, expect, it, jest, spyOn } from 'bun:test';
import { Scripted } from '../scripted.fixture.ts';

const pass = (ms: number) => jest.advanceTimersByTime(ms);

let random: ReturnType<typeof spyOn>;
beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  random = spyOn(Math, 'random').mockReturnValue(1);
});
afterEach(() => {
  random.mockRestore();
  jest.useRealTimers();
});

/** A connected client whose connection has lasted long enough to be a good one. */
function connected(options: Parameters<Scripted['client']>[0] = {}) {
  const world = new Scripted();
  const pusher = world.client(options);
  world.socket.accept();
  pass(10_000);
  return { world, pusher, connection: pusher.connection };
}

/** After how many milliseconds the client connects again. */
function pauseOf(world: Scripted, limitMs = 40_000): number {
  const before = world.sockets.length;
  pass(0);
  for (let ms = 0; ms <= limitMs; ms += 250) {
    if (world.sockets.length > before) return ms;
    pass(250);
  }
  throw new Error('The client never came back');
}

describe('the address', () => {
  it('is that of pusher-js, with one more parameter at its end', () => {
    using world = new Scripted();
    world.client();
    expect(world.socket.url).toMatch(
      /^wss:\/\/ws-local\.pusher\.com:443\/app\/key\?protocol=7&client=js&version=8\.6\.0&flash=false&fanfare=\d[\w.-]*$/,
    );
  });

  it.each([
    [{ host: 'ws.example.com' }, 'wss://ws.example.com:443/app'],
    [{ host: 'http://127.0.0.1:6001' }, 'ws://127.0.0.1:6001/app'],
    [{ host: 'https://ws.example.com:8443/' }, 'wss://ws.example.com:8443/app'],
    [{ host: 'http://[::1]:6001' }, 'ws://[::1]:6001/app'],
    [{ host: 'ws.example.com', wssPort: 99, wsHost: 'other' }, 'wss://other:99/app'],
    [{ host: 'http://a', forceTLS: true }, 'wss://a:443/app'],
    [{ cluster: 'local', forceTLS: false, wsPath: '/x' }, 'ws://ws-local.pusher.com:80/x/app'],
  ])('of %p begins with %s', (options, start) => {
    using world = new Scripted();
    world.client(options);
    expect(world.socket.url).toStartWith(`${start}/key?`);
  });

  it('needs a cluster or a host that is one', () => {
    using world = new Scripted();
    const clientOf = (options: object) => () =>
      world.client({ cluster: undefined, ...options } as object);
    expect(clientOf({})).toThrow('Options object must provide a cluster');
    expect(clientOf({ host: 'http://a/b' })).toThrow('Wrong host: http://a/b');
  });
});

describe('after the end of a good connection', () => {
  it.each([
    [1006, 1000],
    [1000, 1000],
    [1002, 1000],
    [4100, 1000],
    [4199, 1000],
    [4200, 0],
    [4299, 0],
  ])('with %d, the client is connecting at once, and connects after %d ms', (code, pauseMs) => {
    const { world, connection } = connected();
    world.socket.ends(code);
    expect(connection.state).toBe('connecting');
    pass(Math.max(0, pauseMs - 1));
    expect(world.sockets).toHaveLength(pauseMs === 0 ? 2 : 1);
    pass(1);
    expect(world.sockets).toHaveLength(2);
    world[Symbol.dispose]();
  });

  it.each([4001, 4099, 4300, 4999])('with %d, the client stays disconnected', async (code) => {
    const { world, pusher } = connected();
    world.socket.ends(code, 'No');
    expect(pusher.connection.state).toBe('disconnected');
    pass(100_000);
    expect(world.sockets).toHaveLength(1);
  });

  it('with 4000, the client comes back with TLS, and pauses if that is refused in the same way', () => {
    const { world, connection } = connected({ forceTLS: false });
    expect(world.socket.url).toStartWith('ws:');
    world.socket.ends(4000);
    pass(0);
    expect(world.socket.url).toStartWith('wss:');
    expect(connection.isUsingTLS()).toBe(true);
    world.socket.onopen?.();
    world.socket.ends(4000);
    expect(pauseOf(world)).toBeGreaterThanOrEqual(500);
    world[Symbol.dispose]();
  });

  it('the pauses grow to 30 s, also with 4200, until a connection lasts', () => {
    const { world } = connected();
    const pauses = [];
    for (let cut = 0; cut < 7; cut++) {
      world.socket.ends(4200);
      pauses.push(pauseOf(world));
      world.socket.accept();
    }
    expect(pauses).toEqual([0, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    pass(10_000);
    world.socket.ends(1006);
    expect(pauseOf(world)).toBe(1000);
    world[Symbol.dispose]();
  });

  it('forty clients come back spread out', () => {
    random.mockRestore();
    const world = new Scripted();
    for (let n = 0; n < 40; n++) world.client();
    const first = [...world.sockets];
    for (const socket of first) socket.accept();
    pass(10_000);
    for (const socket of first) socket.ends();
    const times: number[] = [];
    for (let ms = 0; ms < 1_001; ms++) {
      while (world.sockets.length - 40 > times.length) times.push(ms);
      pass(1);
    }
    expect(times).toHaveLength(40);
    expect(times[0]).toBeGreaterThanOrEqual(500);
    expect((times[35] ?? 0) - (times[3] ?? 0)).toBeGreaterThanOrEqual(250);
    world[Symbol.dispose]();
  });
});

describe('errors', () => {
  it('carry the code of the end, and say what is no handshake', () => {
    const { world, connection } = connected();
    const errors: unknown[] = [];
    connection.bind('error', (error) => errors.push(error));
    const error = { type: 'PusherError', data: { code: 4100, message: 'Busy' } };
    world.socket.ends(4100, 'Busy');
    expect(errors.splice(0)).toEqual([error, { type: 'WebSocketError', error }]);
    pass(1000);
    world.socket.onopen?.();
    world.socket.frame('{"event":"other"}');
    expect(errors.splice(0)).toEqual([{ type: 'HandshakeError', error: 'Invalid handshake' }]);
    expect(world.socket.isClosed).toBe(true);
    expect(pauseOf(world)).toBe(2000);
    world[Symbol.dispose]();
  });

  it.each(['', 'no JSON', 'null', '[]', '{"data":"{}"}', '{"event":7}'])(
    'tell of a frame that is none: %p',
    (frame) => {
      const { world, connection } = connected();
      const types: unknown[] = [];
      connection.bind('error', ({ type }) => types.push(type));
      world.socket.frame(frame);
      expect([types, connection.state]).toEqual([['MessageParseError'], 'connected']);
      world[Symbol.dispose]();
    },
  );

  it('of a handler do not keep the client from coming back', () => {
    const { world, connection } = connected();
    connection.bind('error', () => {
      throw new Error('of the page');
    });
    expect(() => world.socket.ends(4200)).toThrow('of the page');
    pass(0);
    expect(world.sockets).toHaveLength(2);
    world[Symbol.dispose]();
  });
});

describe('silence', () => {
  const isPing = { event: 'pusher:ping', data: {} };

  it('is asked about after the shorter timeout, and ends the connection after the pong timeout', () => {
    const { world, connection } = connected({ activityTimeout: 50_000, pongTimeout: 7000 });
    pass(39_999);
    expect(world.socket.said()).toEqual([]);
    pass(1);
    expect(world.socket.said()).toEqual([isPing]);
    pass(6999);
    expect(connection.state).toBe('connected');
    pass(1);
    expect([connection.state, world.socket.isClosed]).toEqual(['connecting', true]);
    pass(0);
    expect(world.sockets).toHaveLength(2);
    world[Symbol.dispose]();
  });

  it('ends with anything that the server says', () => {
    const { world, connection } = connected({ activityTimeout: 50_000 });
    pass(40_000);
    world.socket.says('pusher:pong', {});
    pass(30_000);
    expect(connection.state).toBe('connected');
    world[Symbol.dispose]();
  });

  it('that a proxy cuts is asked about after half of the time that the connection had', () => {
    const { world } = connected();
    pass(30_000);
    world.socket.ends(1006);
    pass(1000);
    world.socket.accept();
    pass(19_999);
    expect(world.socket.said()).toEqual([]);
    pass(1);
    expect(world.socket.said()).toEqual([isPing]);
    world[Symbol.dispose]();
  });

  it('is not answered by the page when the server asks', () => {
    const { world } = connected();
    world.socket.says('pusher:ping', {});
    expect(world.socket.said()).toEqual([{ event: 'pusher:pong', data: {} }]);
    world[Symbol.dispose]();
  });
});

describe('a page that wakes up', () => {
  it.each(['wake', 'offline'])('asks on %s whether its connection lives, for 5 s', (event) => {
    const { world, connection } = connected();
    world.network.emit(event);
    expect(world.socket.said()).toHaveLength(1);
    pass(4999);
    expect(connection.state).toBe('connected');
    pass(1);
    expect(connection.state).toBe('connecting');
    pass(0);
    expect(world.sockets).toHaveLength(2);
    world[Symbol.dispose]();
  });

  it.each(['wake', 'online', 'offline'])(
    'connects on %s at once if it has no connection',
    (event) => {
      const { world } = connected();
      world.socket.ends(4100);
      world.network.emit(event);
      pass(0);
      expect(world.sockets).toHaveLength(2);
      world[Symbol.dispose]();
    },
  );

  it('has closed its connection before it went into the cache of the browser', () => {
    const { world, connection } = connected();
    world.network.emit('hide');
    expect([connection.state, world.socket.isClosed]).toEqual(['connecting', true]);
    pass(60_000);
    expect(world.sockets).toHaveLength(1);
    world.network.emit('wake');
    pass(0);
    expect(world.sockets).toHaveLength(2);
    world[Symbol.dispose]();
  });

  it('stays disconnected if the application wants that', () => {
    const { world, pusher } = connected();
    pusher.disconnect();
    for (const event of ['wake', 'online', 'hide']) world.network.emit(event);
    pass(60_000);
    expect([world.sockets.length, pusher.connection.state]).toEqual([1, 'disconnected']);
  });
});

describe('states', () => {
  it('tell of a connection that does not come, while attempts go on', () => {
    using world = new Scripted();
    const { connection } = world.client();
    const states: string[] = [];
    connection.bind('state_change', ({ current }) => states.push(current));
    pass(9999);
    expect(connection.state).toBe('connecting');
    pass(1);
    world.socket.ends();
    pass(1000);
    world.socket.onopen?.();
    world.socket.ends(4100);
    pass(2000);
    world.socket.accept();
    expect(states).toEqual(['unavailable', 'connected']);
  });

  it('are failed without a transport', async () => {
    using world = new Scripted();
    const { connection } = world.client({ enabledTransports: [] });
    expect(connection.state).toBe('failed');
  });

  it('say when the next attempt is made', () => {
    const { world, connection } = connected();
    const seconds: number[] = [];
    connection.bind('connecting_in', (n) => seconds.push(n));
    world.socket.ends();
    pass(1000);
    world.socket.onopen?.();
    world.socket.ends();
    expect(seconds).toEqual([1, 2]);
    world[Symbol.dispose]();
  });
});

describe('ready', () => {
  it('is the id of this connection or of the next one', async () => {
    using world = new Scripted();
    const pusher = world.client();
    const { ready } = pusher;
    world.socket.accept('7.7');
    expect(await ready).toBe('7.7');
    world.socket.ends(4200);
    const next = pusher.ready;
    pass(0);
    world.socket.accept('8.8');
    expect([await next, await pusher.ready]).toEqual(['8.8', '8.8']);
  });

  it('rejects with the reason when there will be none', async () => {
    using world = new Scripted();
    const refused = world.client().ready;
    world.socket.onopen?.();
    world.socket.ends(4001, 'No such key');
    const ended = world.client();
    const { ready } = ended;
    ended.disconnect();

    await expect(refused).rejects.toMatchObject({ code: 4001, message: 'No such key' });
    await expect(ready).rejects.toThrow('disconnected');
  });
});
