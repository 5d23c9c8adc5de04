import { describe, expect, it } from 'bun:test';
import type { Line } from '../history/line.ts';
import { check } from './check.ts';
import { HEADER } from './histories.fixture.ts';

const CH = 'presence-room';

function* subscribers(count: number, n = 1): Iterable<object> {
  for (let c = 0; c < count; c++) {
    yield { op: 'open', c, n, socket: `${c}.${n}` };
    yield { op: 'subscribe', c, n, ch: CH, user: 'one' };
    yield { op: 'subscribed', c, n, ch: CH, members: ['one'] };
  }
}

/** Histories of about as many lines. */
const shapes = {
  *'events for ten clients'(lines: number) {
    yield* subscribers(10);
    for (let e = 0; e < lines / 12; e++) {
      const id = `${e}-abcdefgh`;
      yield { op: 'trigger', e: `${e}`, ch: [CH] };
      yield { op: 'answer', e: `${e}`, status: 200, ids: { [CH]: id } };
      for (let c = 0; c < 10; c++) yield { op: 'event', c, n: 1, ch: CH, e: `${e}`, id };
    }
  },
  *'calm times of many clients, one of whom has a wrong list'(lines: number) {
    yield* subscribers(lines / 6);
    yield { op: 'joined', c: 0, n: 1, ch: CH, user: 'two' };
    for (let at = 0; at < lines / 2; at++) yield { op: 'calm', t: 6000 * at };
  },
  *'many clients that come back after a fault'(lines: number) {
    yield* subscribers(lines / 6);
    yield { op: 'fault', what: 'kill', until: 500_000 };
    yield* subscribers(lines / 6, 2);
    yield { op: 'calm', t: 1_000_000 };
  },
};

function* timed(lines: Iterable<object>): Iterable<Line> {
  let t = 0;
  for (const line of lines) {
    const one = { t, ...line } as Line;
    t = one.t;
    yield one;
  }
}

/** Processor time of this thread that the checker takes, in microseconds: the least of some runs, which no other program can shorten. */
function leastUs(lines: () => Iterable<object>, runs: number): number {
  const taken = Array.from({ length: runs }, () => {
    Bun.gc(true);
    const before = process.threadCpuUsage();
    check({ header: HEADER, lines: timed(lines()) });
    const { user, system } = process.threadCpuUsage(before);
    return user + system;
  });
  return Math.min(...taken);
}

const FEW = 5_000;
/** Neighbours on the machine may take the processor's caches in one round, but hardly in all. */
const ROUNDS_MAX = 5;

describe('the checker', () => {
  // Many clients no longer fit into the caches, which alone may double the time. A square would be 100 times.
  it.each([
    ['events for ten clients', 14],
    ['calm times of many clients, one of whom has a wrong list', 30],
    ['many clients that come back after a fault', 30],
  ] as const)(
    'takes for 10 times the lines about 10 times the time: %s, at most %d',
    (shape, most) => {
      const few = () => shapes[shape](FEW);
      const many = () => shapes[shape](10 * FEW);
      // Compiles the code before it is measured.
      leastUs(few, 2);
      let ratio = Number.POSITIVE_INFINITY;
      for (let round = 0; round < ROUNDS_MAX && ratio > most; round++) {
        ratio = Math.min(ratio, leastUs(many, 1) / leastUs(few, 3));
      }
      expect(ratio).toBeLessThanOrEqual(most);
    },
  );
});
