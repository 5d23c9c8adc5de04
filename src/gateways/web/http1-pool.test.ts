import { beforeEach, describe, expect, it } from 'bun:test';
import { FakeTimers } from '../../../testing/fake-timers.ts';
import { Http1Pool, type SendOverHttp1 } from './http1-pool.ts';
import { Http1Slots } from './http1-slots.ts';

type Answer = Awaited<ReturnType<SendOverHttp1>>;

const taken: Answer = {
  result: 'answered',
  status: 201,
  headers: new Headers(),
  body: new Uint8Array(),
};

/** Requests that the push service has not answered yet. */
let open: { readonly path: string; answer(answer: Answer): void }[];
let lane: Http1Pool;
let places: Http1Slots;
beforeEach(() => {
  open = [];
  places = new Http1Slots();
  lane = laneTo('http://push.example');
});

function laneTo(origin: string): Http1Pool {
  return new Http1Pool(origin, {
    send: ({ url }) =>
      new Promise((resolve) => {
        open.push({ path: new URL(url).pathname, answer: resolve });
      }),
    timers: new FakeTimers(),
    timeoutMs: 15_000,
    answerBytesMax: 4_096,
    places,
  });
}

const [one, other] = [{}, {}];
const settled = () => new Promise((resolve) => setImmediate(resolve));

function send(count: number, path: string, of: object, isNewcomer = false, to = lane) {
  return Array.from({ length: count }, () =>
    to.send({ path, fields: [], body: new Uint8Array(), sender: { of, isNewcomer } }),
  );
}

const openOf = (path: string) => open.filter((request) => request.path === path).length;

describe('requests over HTTP/1.1', () => {
  it('are 64 at a time', async () => {
    send(100, '/a', one);
    await settled();
    expect(open).toHaveLength(64);
    for (const { answer } of open.splice(0, 10)) answer(taken);
    await settled();
    expect(open).toHaveLength(64);
  });

  it('for newcomers leave places to others, who then need not wait', async () => {
    send(100, '/new', one, true);
    await settled();
    expect(openOf('/new')).toBe(48);
    send(16, '/known', one);
    send(16, '/known', other);
    await settled();
    expect(openOf('/known')).toBe(16);
    // While others wait, newcomers get none of the places that become free.
    for (const { answer } of open.splice(0, 16)) answer(taken);
    await settled();
    expect([openOf('/new'), openOf('/known')]).toEqual([32, 32]);
  });

  it('of one instance do not keep those of another waiting', async () => {
    send(500, '/much', one);
    send(2, '/little', other);
    await settled();
    expect(openOf('/little')).toBe(0);
    for (const { answer } of open.splice(0, 4)) answer(taken);
    await settled();
    expect(openOf('/little')).toBe(2);
  });

  it('to many push services leave places for another', async () => {
    for (let n = 0; n < 150; n++) send(4, '/new', one, true, laneTo(`http://bad-${n}.example`));
    await settled();
    expect(openOf('/new')).toBe(96);
    send(10, '/known', other);
    await settled();
    expect(openOf('/known')).toBe(10);
    // One push service leaves places to others even without newcomers.
    const [quiet, busy] = [laneTo('http://quiet.example'), laneTo('http://busy.example')];
    for (const { answer } of open.splice(0, 106)) answer(taken);
    await settled();
    send(200, '/busy', one, false, busy);
    send(5, '/quiet', other, false, quiet);
    await settled();
    expect(openOf('/quiet')).toBe(5);
    expect(open.length).toBeLessThanOrEqual(128);
  });

  it.each<[string, string]>([
    ['ECONNREFUSED', 'unreachable'],
    ['ConnectionRefused', 'unreachable'],
    ['ECONNRESET', 'connection-lost'],
    ['Malformed_HTTP_Response', 'connection-lost'],
    ['aborted', 'closed'],
  ])(
    'that fail with %s are %s: only what comes before a request is of all',
    async (why, reason) => {
      const [result] = send(1, '/a', one);
      await settled();
      open[0]?.answer({ result: 'unreachable', why });
      expect(await result).toEqual({ result: 'not-answered', reason });
    },
  );
});
