import { beforeEach, describe, expect, it } from 'bun:test';
import { FakeTime } from '../../../testing/fake-time.ts';
import type { OutgoingAnswer } from '../../outgoing/request.ts';
import { Http1Pool } from './http1-pool.ts';
import { Http1Slots } from './http1-slots.ts';

const taken: OutgoingAnswer = {
  result: 'answered',
  status: 201,
  headers: new Headers(),
  body: new Uint8Array(),
};

/** Requests that the push service has not answered yet. */
let open: { readonly path: string; answer(answer: OutgoingAnswer): void }[];
let pool: Http1Pool;
let slots: Http1Slots;
beforeEach(() => {
  open = [];
  slots = new Http1Slots();
  pool = poolTo('http://push.example');
});

function poolTo(origin: string): Http1Pool {
  return new Http1Pool(origin, {
    send: ({ url }) =>
      new Promise((resolve) => {
        open.push({ path: new URL(url).pathname, answer: resolve });
      }),
    timers: new FakeTime({ turns: 20 }),
    timeoutMs: 15_000,
    answerBytesMax: 4_096,
    slots,
  });
}

const [one, other] = [{}, {}];
const settled = () => new Promise((resolve) => setImmediate(resolve));

function send(count: number, path: string, owner: object, isTrusted = true, to = pool) {
  return Array.from({ length: count }, () =>
    to.send({
      path,
      fields: [],
      body: new Uint8Array(),
      sender: { owner, isTrusted },
      isOpen: false,
    }),
  );
}

const openOf = (path: string) => open.filter((request) => request.path === path).length;

describe('requests over HTTP/1.1', () => {
  it('are limited to 64', async () => {
    send(100, '/a', one);
    await settled();
    expect(open).toHaveLength(64);
    for (const { answer } of open.splice(0, 10)) answer(taken);
    await settled();
    expect(open).toHaveLength(64);
  });

  it('that are untrusted leave slots to trusted ones', async () => {
    send(100, '/new', one, false);
    await settled();
    // One less than its share of this push service: some are kept for the first requests to others.
    expect(openOf('/new')).toBe(47);
    send(16, '/known', one);
    send(16, '/known', other);
    await settled();
    expect(openOf('/known')).toBe(17);
    // While trusted requests wait, untrusted ones get no free slots.
    for (const { answer } of open.splice(0, 16)) answer(taken);
    await settled();
    expect([openOf('/new'), openOf('/known')]).toEqual([32, 32]);
  });

  it('of one instance do not delay those of another', async () => {
    send(500, '/much', one);
    send(2, '/little', other);
    await settled();
    expect(openOf('/little')).toBe(0);
    for (const { answer } of open.splice(0, 4)) answer(taken);
    await settled();
    expect(openOf('/little')).toBe(2);
  });

  it('to many push services leave a slot for the first one to another, trusted or not', async () => {
    for (let n = 0; n < 49; n++) send(10, '/silent', one, false, poolTo(`http://bad-${n}.example`));
    await settled();
    const first = poolTo('http://first.example');
    send(2, '/first', one, false, first);
    await settled();
    expect(openOf('/first')).toBe(1);
    // Each hanging service has one, and few have more.
    expect(openOf('/silent')).toBe(95);
    for (const { answer } of open.splice(0)) answer(taken);
    await settled();
    expect(openOf('/first')).toBe(1);
  });

  it('to many push services leave slots for another', async () => {
    for (let n = 0; n < 150; n++) send(4, '/new', one, false, poolTo(`http://bad-${n}.example`));
    await settled();
    expect(openOf('/new')).toBe(96);
    send(10, '/known', other);
    await settled();
    expect(openOf('/known')).toBe(10);
    // One push service leaves slots to others even for trusted requests.
    const [quiet, busy] = [poolTo('http://quiet.example'), poolTo('http://busy.example')];
    for (const { answer } of open.splice(0, 106)) answer(taken);
    await settled();
    send(200, '/busy', one, true, busy);
    send(5, '/quiet', other, true, quiet);
    await settled();
    expect(openOf('/quiet')).toBe(5);
    expect(open.length).toBeLessThanOrEqual(128);
  });

  it.each<[string, string]>([
    ['ECONNREFUSED', 'unreachable'],
    ['ECONNRESET', 'connection-lost'],
    ['Malformed_HTTP_Response', 'connection-lost'],
    ['aborted', 'closed'],
  ])('that fail with %s are %s', async (why, reason) => {
    const [result] = send(1, '/a', one);
    await settled();
    open[0]?.answer({ result: 'unreachable', why });
    expect(await result).toEqual({ result: 'not-answered', reason });
  });
});
