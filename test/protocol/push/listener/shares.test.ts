import { describe, expect, it } from 'bun:test';
import { PushRefusal } from '../../../../src/push/refusal.ts';
import type { PushAnswer, PushEndpoint } from '../../../../src/transports/push-api/call.ts';
import { type RawAnswer, RawHttp, type RawRequest } from '../../../../testing/clients/raw-http.ts';
import { type ListenerUnderTest, openListener } from './open-listener.ts';

const ID = '0b8e7c9c-66a1-4a0e-a1f6-1f2d3c4b5a69';
const INTERESTS = `/publish_api/v1/instances/${ID}/publishes/interests`;
const DEVICE = `/device_api/v1/instances/${ID}/devices/web/web-1`;
const [NEIGHBOUR, STRANGER] = ['127.0.0.2', '127.0.0.3'];

const GET: RawRequest = { method: 'GET', target: DEVICE };
const put = (bytes: number): RawRequest => ({
  method: 'PUT',
  target: `${DEVICE}/interests`,
  body: 'x'.repeat(bytes),
});

/** A publish with a valid key of the instance with this number. */
const publish = (instance: number, bytes = 5): RawRequest => ({
  method: 'POST',
  target: INTERESTS,
  headers: { 'x-instance': String(instance) },
  body: 'x'.repeat(bytes),
});

const publishing: PushEndpoint = {
  checkHead: (head) => ({ instance: Number(head.header('x-instance')) }),
  answer: () => ({ json: '{}' }),
};

/** As much as the runtime reads of a socket at once. */
const ONE_READ_BYTES = 600_000;

const FULL = { status: 503, body: expect.stringContaining('Server is overloaded, try again') };

const open = (server: ListenerUnderTest, from?: string) =>
  RawHttp.open(server, from === undefined ? {} : { from });

async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((resolve) => setImmediate(resolve));
}

/** An endpoint that answers on demand and counts its calls. */
function held(): { readonly endpoint: PushEndpoint; asked: number; answer(): void } {
  const gate = Promise.withResolvers<PushAnswer>();
  const one = {
    asked: 0,
    endpoint: {
      answer() {
        one.asked++;
        return gate.promise;
      },
    },
    answer: () => gate.resolve({ json: '{}' }),
  };
  return one;
}

/** The answer, or `undefined` if the connection ended without one. */
const received = async (connection: RawHttp): Promise<RawAnswer | undefined> =>
  await connection.readOrEnd();

describe('at the limit of connections,', () => {
  it('a new one replaces the longest idle one of the address with most connections', async () => {
    await using server = await openListener({ bounds: { connections: 4 } });
    await using honest = await open(server, NEIGHBOUR);
    const many = [await open(server), await open(server), await open(server)] as const;
    expect((await honest.request(GET)).status).toBe(200);
    // The first has sent the last request, so the second is idle for longest.
    for (const one of [many[1], many[2], many[0]])
      expect((await one.request(GET)).status).toBe(200);
    await using newcomer = await open(server, STRANGER);
    expect((await newcomer.request(GET)).status).toBe(200);
    await many[1].untilEnd();
    await using next = await open(server, '127.0.0.4');
    expect((await next.request(GET)).status).toBe(200);
    await many[2].untilEnd();
    for (const one of [honest, newcomer, many[0]])
      expect((await one.request(GET)).status).toBe(200);
    expect(server.lines).toEqual([
      {
        level: 'warn',
        message: 'Push connections closed: the limit of connections is reached',
        address: '127.0.0.1',
        setting: 'push.maxConnections',
        limit: 4,
        hint: 'if this is your proxy, add it to trustedProxies',
      },
    ]);
  });

  it.each([
    ['nothing', ''],
    ['half a head', 'GET / HTTP/1.1\r\nHo'],
    ['half a body', `PUT ${DEVICE}/interests HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc`],
  ])(
    'those that have sent %s are closed before those that wait for an answer',
    async (_, bytes) => {
      const asked = held();
      await using server = await openListener({
        bounds: { connections: 2, headMs: 60_000, requestMs: 60_000 },
        endpoints: { readDevice: asked.endpoint },
      });
      await using waiting = await open(server);
      waiting.sendRequest(GET);
      await until(() => asked.asked === 1);
      await using unfinished = await open(server);
      unfinished.write(bytes);
      await using newcomer = await open(server);
      newcomer.sendRequest(GET);
      await unfinished.untilEnd();
      await until(() => asked.asked === 2);
      asked.answer();
      expect((await waiting.read()).status).toBe(200);
      expect((await newcomer.read()).status).toBe(200);
    },
  );

  it('an address with only busy connections gets no more, and loses them only to others', async () => {
    const asked = held();
    await using server = await openListener({
      bounds: { connections: 2 },
      endpoints: { readDevice: asked.endpoint },
    });
    await using first = await open(server);
    await using second = await open(server);
    for (const one of [first, second]) one.sendRequest(GET);
    await until(() => asked.asked === 2);
    await using third = await open(server);
    third.sendRequest(GET);
    expect(await received(third)).toBeUndefined();
    await using other = await open(server, NEIGHBOUR);
    other.sendRequest(GET);
    expect(await received(second)).toBeUndefined();
    await until(() => asked.asked === 3);
    asked.answer();
    expect((await first.read()).status).toBe(200);
    expect((await other.read()).status).toBe(200);
  });

  it('new ones are accepted as soon as one has ended', async () => {
    await using server = await openListener({ bounds: { connections: 1 } });
    for (let at = 0; at < 5; at++) {
      await using one = await open(server);
      expect((await one.request(GET)).status).toBe(200);
    }
  });
});

describe('at the limit of requests in flight,', () => {
  it('the address with most loses its newest one, and others lose none', async () => {
    const asked = held();
    await using server = await openListener({
      bounds: { requests: 3 },
      endpoints: { readDevice: asked.endpoint },
    });
    await using honest = await open(server, NEIGHBOUR);
    await using first = await open(server);
    await using second = await open(server);
    for (const one of [honest, first, second]) one.sendRequest(GET);
    await until(() => asked.asked === 3);
    await using third = await open(server);
    expect(await third.request(GET)).toMatchObject(FULL);
    await using stranger = await open(server, STRANGER);
    stranger.sendRequest(GET);
    // A request that is being executed cannot be reported as failed.
    expect(await received(second)).toBeUndefined();
    await until(() => asked.asked === 4);
    asked.answer();
    for (const one of [honest, first, stranger]) expect((await one.read()).status).toBe(200);
    expect(server.lines).toContainEqual({
      level: 'warn',
      message: 'Push requests refused: the address has too many in progress',
      address: '127.0.0.1',
      requests: 3,
      bytes: expect.any(Number),
      hint: 'if this is your proxy, add it to trustedProxies',
    });
  });

  it('one whose body is still arriving is answered, and its connection closed', async () => {
    await using server = await openListener({ bounds: { requests: 1, requestMs: 60_000 } });
    await using slow = await open(server);
    slow.write(`PUT ${DEVICE}/interests HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc`);
    await until(() => server.underWay() === 1);
    await using other = await open(server, NEIGHBOUR);
    await using more = await open(server, NEIGHBOUR);
    // Each address has one, so the present one stays.
    expect(await other.request(GET)).toMatchObject(FULL);
    slow.write('abcdef');
    expect((await slow.read()).status).toBe(200);
    expect((await more.request(GET)).status).toBe(200);
  });

  it('those with a secret key have slots of their own, shared by instance', async () => {
    const asked = held();
    await using server = await openListener({
      bounds: { requests: 2 },
      endpoints: {
        readDevice: asked.endpoint,
        publishToInterests: publishing,
        publishToUsers: { ...publishing, answer: asked.endpoint.answer },
      },
    });
    const hanging = (instance: number): RawRequest => ({
      ...publish(instance),
      target: INTERESTS.replace('interests', 'users'),
    });
    await using stranger = await open(server);
    await using another = await open(server);
    for (const one of [stranger, another]) one.sendRequest(GET);
    await until(() => asked.asked === 2);
    await using refused = await open(server);
    expect(await refused.request(GET)).toMatchObject(FULL);
    await using other = await open(server);
    expect((await other.request(publish(1))).status).toBe(200);
    // All from one address, and with more requests than one instance may have.
    await using first = await open(server);
    await using second = await open(server);
    first.sendRequest(hanging(1));
    second.sendRequest(hanging(1));
    await until(() => asked.asked === 4);
    expect(await other.request(publish(1))).toMatchObject(FULL);
    expect((await other.request(publish(2))).status).toBe(200);
    expect(await received(second)).toBeUndefined();
    expect(server.lines).toContainEqual(
      expect.objectContaining({
        message: 'Push requests refused: the backend has too many in progress',
      }),
    );
  });
});

describe('a request that is refused because of a rate', () => {
  const limitRate: PushEndpoint = {
    checkHead: () => new PushRefusal('rate-limited', 'Too many', 1),
    answer: () => ({ json: '{}' }),
  };

  it('is the last of its connection, so that a flood costs no more parsing', async () => {
    await using server = await openListener({ endpoints: { report: limitRate } });
    const report = {
      method: 'POST',
      target: `/reporting_api/v2/instances/${ID}/events`,
      body: 'x'.repeat(200),
    };
    await using connection = await open(server);
    for (let n = 0; n < 30; n++) connection.sendRequest(report);
    const answer = await connection.read();
    expect([answer.status, answer.headers.get('connection')]).toEqual([429, 'close']);
    await connection.untilEnd();
    expect(server.counted.get('429')).toBe(1);
  });

  it('gets its answer even if its body is large', async () => {
    await using server = await openListener({ endpoints: { setInterests: limitRate } });
    await using connection = await open(server);
    connection.sendRequest(put(900_000));
    expect((await connection.read()).status).toBe(429);
    await connection.untilEnd();
  });
});

describe('new connections of one address', () => {
  it('have a rate with a burst of a few seconds; more are closed and logged', async () => {
    await using server = await openListener({ bounds: { connectionsPerSecond: 1 } });
    const answered = async (from?: string) => {
      await using connection = await open(server, from);
      connection.sendRequest(GET);
      return (await connection.readOrEnd())?.status;
    };
    const all: unknown[] = [];
    for (let n = 0; n < 7; n++) all.push(await answered());
    expect(all.slice(0, 5)).toEqual(Array(5).fill(200));
    expect(all.at(-1)).toBeUndefined();
    expect(await answered(NEIGHBOUR)).toBe(200);
    expect(server.lines).toEqual([
      {
        level: 'warn',
        message: 'Push connections refused: the address connects too often',
        address: '127.0.0.1',
        setting: 'push.addressLimits.connectionsPerSecond',
        limit: 1,
        hint: 'if this is your proxy, add it to trustedProxies',
      },
    ]);
  });

  it('from a trusted proxy have no rate', async () => {
    await using server = await openListener({
      bounds: { connectionsPerSecond: 1 },
      trustedProxies: ['127.0.0.1'],
    });
    for (let n = 0; n < 10; n++) {
      await using connection = await open(server);
      expect((await connection.request(GET)).status).toBe(200);
    }
  });
});

describe('at the limit of bytes of bodies,', () => {
  const bounds = { heldBytes: 200_000, requestMs: 60_000 };
  const half = (bytes: number) =>
    `PUT ${DEVICE}/interests HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n${'x'.repeat(bytes)}`;

  it('the address with most bytes loses its newest request, which is answered and closed', async () => {
    await using server = await openListener({ bounds });
    await using first = await open(server);
    await using second = await open(server);
    first.write(half(90_000));
    await until(() => server.heldBytes() >= 90_000);
    second.write(half(90_000));
    await until(() => server.heldBytes() >= 180_000);
    await using other = await open(server, NEIGHBOUR);
    expect((await other.request(put(50_000))).status).toBe(200);
    const refused = await second.read();
    expect(refused).toMatchObject(FULL);
    expect(refused.headers.get('connection')).toBe('close');
    await second.untilEnd();
    await until(() => server.heldBytes() === 90_000);
  });

  it('the address with most bytes gets no more', async () => {
    await using server = await openListener({ bounds });
    await using first = await open(server);
    first.write(half(190_000));
    await until(() => server.heldBytes() >= 190_000);
    await using second = await open(server);
    expect(await second.request(put(50_000))).toMatchObject(FULL);
    expect(server.heldBytes()).toBe(190_000);
  });

  it('those with a secret key have room of their own', async () => {
    await using server = await openListener({
      bounds,
      endpoints: { publishToUsers: publishing },
    });
    await using first = await open(server);
    first.write(half(199_000));
    await until(() => server.heldBytes() >= 199_000);
    await using backend = await open(server);
    const users = { ...publish(1, 150_000), target: INTERESTS.replace('interests', 'users') };
    expect((await backend.request(users)).status).toBe(200);
  });
});

describe('a body', () => {
  it('below the minimum speed is refused with 408, and one above it is not', async () => {
    await using server = await openListener({
      bounds: { bodyBytesPerSecond: 10_000, bodyGraceMs: 100, requestMs: 60_000, checkMs: 20 },
    });
    const head = `PUT ${DEVICE}/interests HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n`;
    await using slow = await open(server);
    await using fast = await open(server);
    slow.write(head);
    fast.write(`${head}${'x'.repeat(99_000)}`);
    const dripping = setInterval(() => slow.write('x'), 20);
    const refused = await slow.read();
    clearInterval(dripping);
    expect(refused.status).toBe(408);
    expect(refused.body).toContain('it must have at least 10000 bytes per second');
    await slow.untilEnd();
    fast.write('x'.repeat(1000));
    expect((await fast.read()).status).toBe(200);
  });

  it('is not read before its head is accepted', async () => {
    const known = Promise.withResolvers<undefined>();
    let bytes = 0;
    await using server = await openListener({
      endpoints: {
        setInterests: {
          checkBeforeBody: () => known.promise,
          answer({ body }) {
            bytes = body.length;
            return { json: '{}' };
          },
        },
      },
    });
    await using connection = await open(server);
    await using other = await open(server);
    connection.sendRequest(put(1_000_000));
    // By then the server would have read what has arrived.
    for (let at = 0; at < 20; at++) await other.request(GET);
    expect(server.underWay()).toBe(1);
    // What came with the head. The socket is not read any more.
    expect(server.heldBytes()).toBeLessThan(ONE_READ_BYTES);
    known.resolve(undefined);
    expect((await connection.read()).status).toBe(200);
    expect(bytes).toBe(1_000_000);
  });

  it('of a refused request is skipped, and the next request is answered', async () => {
    await using server = await openListener({
      endpoints: {
        setInterests: {
          checkBeforeBody: async () =>
            new PushRefusal('device-not-found', 'Could not find the device'),
          answer: () => ({ json: '{}' }),
        },
      },
    });
    await using connection = await open(server);
    connection.sendRequest(put(1_000_000));
    expect((await connection.read()).status).toBe(404);
    expect((await connection.request(GET)).status).toBe(200);
    expect(server.heldBytes()).toBe(0);
  });
});

describe('a query', () => {
  it('has 128 parameters at most', async () => {
    await using server = await openListener();
    await using connection = await open(server);
    const target = (count: number) => `${DEVICE}?${Array(count).fill('a=1').join('&')}`;
    expect((await connection.request({ method: 'GET', target: target(128) })).status).toBe(200);
    for (const count of [129, 3000]) {
      const answer = await connection.request({ method: 'GET', target: target(count) });
      expect(answer).toMatchObject({
        status: 400,
        body: expect.stringContaining('The query may have 128 parameters at most'),
      });
    }
  });
});

describe('the address of a client', () => {
  const addresses: PushEndpoint = {
    answer: ({ address, addressKey }) => ({ json: JSON.stringify({ address, addressKey }) }),
  };
  const from = (headers: Record<string, string>): RawRequest => ({ ...GET, headers });

  it.each([
    ['nobody is trusted', [], { 'x-forwarded-for': '192.0.2.7' }, '127.0.0.1', '127.0.0.1'],
    ['another is trusted', ['127.0.0.2'], { forwarded: 'for=192.0.2.7' }, '127.0.0.1', '127.0.0.1'],
    ['the proxy names none', ['127.0.0.0/8'], {}, '127.0.0.1', '127.0.0.1'],
    [
      'the proxy names one',
      ['127.0.0.0/8'],
      { 'x-forwarded-for': '203.0.113.9, 192.0.2.7' },
      '192.0.2.7',
      '192.0.2.7',
    ],
    [
      'it is one of IPv6',
      ['127.0.0.1'],
      { forwarded: 'for="[2001:db8:1:2:3:4:5:6]:99"' },
      '2001:db8:1:2:3:4:5:6',
      '2001:db8:1:2::/64',
    ],
  ])('is the right one if %s', async (_, trustedProxies, headers, address, addressKey) => {
    await using server = await openListener({
      trustedProxies,
      endpoints: { readDevice: addresses },
    });
    await using connection = await open(server);
    const answer = await connection.request(from(headers as Record<string, string>));
    expect(JSON.parse(answer.body)).toEqual({ address, addressKey });
  });

  it('behind a trusted proxy is the one that limits and the log use', async () => {
    const asked = held();
    await using server = await openListener({
      trustedProxies: ['127.0.0.1'],
      bounds: { requests: 2 },
      endpoints: { readDevice: asked.endpoint },
    });
    await using proxy = await open(server);
    await using second = await open(server);
    proxy.sendRequest(from({ 'x-forwarded-for': '192.0.2.7' }));
    second.sendRequest(from({ 'x-forwarded-for': '192.0.2.7' }));
    await until(() => asked.asked === 2);
    await using refused = await open(server);
    expect(await refused.request(from({ 'x-forwarded-for': '192.0.2.7' }))).toMatchObject(FULL);
    await using third = await open(server);
    third.sendRequest(from({ 'x-forwarded-for': '192.0.2.8' }));
    expect(await received(second)).toBeUndefined();
    const lines = server.lines.filter(({ message }) =>
      message.startsWith('Push requests refused: the address'),
    );
    expect(lines).toMatchObject([{ address: '192.0.2.7' }]);
    asked.answer();
    expect((await third.read()).status).toBe(200);
  });
});

describe('lines of the log about refused requests', () => {
  it('have a burst of 100 for each client, and count what was left out', async () => {
    await using server = await openListener();
    await using connection = await open(server);
    const nowhere: RawRequest = { method: 'GET', target: '/nowhere' };
    for (let at = 0; at < 150; at++) expect((await connection.request(nowhere)).status).toBe(404);
    const lines = () => server.lines.filter(({ message }) => message === 'Push request refused');
    expect(lines().length).toBeLessThan(130);
    await using other = await open(server, NEIGHBOUR);
    const before = lines().length;
    expect((await other.request(nowhere)).status).toBe(404);
    expect(lines()).toHaveLength(before + 1);
    while (!lines().some(({ notLogged }) => Number(notLogged) > 20))
      await connection.request(nowhere);
  });
});
