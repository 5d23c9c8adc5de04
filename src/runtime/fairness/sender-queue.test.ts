import { describe, expect, it } from 'bun:test';
import { type Sender, SenderQueue, untrustedLimit } from './sender-queue.ts';

const one = { name: 'one' };
const other = { name: 'other' };

function trusted(owner: object): Sender {
  return { owner, isTrusted: true };
}

function untrusted(owner: object): Sender {
  return { owner, isTrusted: false };
}

function queueOf(...items: readonly [string, Sender][]): SenderQueue<string> {
  const queue = new SenderQueue<string>();
  for (const [item, sender] of items) queue.add(item, sender);
  return queue;
}

function takeAll(queue: SenderQueue<string>, mayBeUntrusted = true): readonly string[] {
  const taken: string[] = [];
  for (;;) {
    const item = queue.take(mayBeUntrusted);
    if (item === undefined) return taken;
    taken.push(item);
  }
}

describe('a sender queue', () => {
  it('lets owners take turns, and keeps the order of each', () => {
    const queue = queueOf(
      ['a1', trusted(one)],
      ['a2', trusted(one)],
      ['a3', trusted(one)],
      ['b1', trusted(other)],
      ['b2', trusted(other)],
    );
    expect(queue.size).toBe(5);
    expect(takeAll(queue)).toEqual(['a1', 'b1', 'a2', 'b2', 'a3']);
    expect(queue.size).toBe(0);
  });

  it('lets untrusted requests take turns with trusted ones, unless they may not be taken', () => {
    const items = () =>
      queueOf(
        ['u1', untrusted(one)],
        ['u2', untrusted(one)],
        ['t1', trusted(one)],
        ['t2', trusted(other)],
      );
    expect(takeAll(items())).toEqual(['u1', 't1', 'u2', 't2']);
    const queue = items();
    expect(queue.hasTrusted).toBe(true);
    expect(takeAll(queue, false)).toEqual(['t1', 't2']);
    expect([queue.size, queue.hasTrusted]).toEqual([2, false]);
    expect(takeAll(queue)).toEqual(['u1', 'u2']);
  });

  it('takes out all items that match, and keeps the others in order', () => {
    const queue = queueOf(['a1', trusted(one)], ['b1', trusted(other)], ['a2', untrusted(one)]);
    expect(queue.takeMatching((item) => item.startsWith('a'))).toEqual(['a1', 'a2']);
    expect(takeAll(queue)).toEqual(['b1']);
    queue.add('a3', trusted(one));
    expect(queue.size).toBe(1);
    expect(takeAll(queue)).toEqual(['a3']);
  });

  it('keeps the order over many additions and removals', () => {
    const queue = new SenderQueue<number>();
    const taken: number[] = [];
    for (let number = 0; number < 10_000; number++) {
      queue.add(number, trusted(one));
      if (number % 3 > 0) taken.push(queue.take() ?? -1);
    }
    while (queue.size > 0) taken.push(queue.take() ?? -1);
    expect(taken).toEqual(Array.from({ length: 10_000 }, (_, number) => number));
  });
});

it('leaves places to trusted requests, and more while those wait', () => {
  expect([untrustedLimit(100, false), untrustedLimit(100, true), untrustedLimit(1, true)]).toEqual([
    75, 25, 1,
  ]);
});
