import { describe, expect, it } from 'bun:test';
import { SenderQueue } from './sender-queue.ts';

const [one, other] = [{ name: 'one' }, { name: 'other' }];

function lineOf(...items: readonly [string, object, boolean][]): SenderQueue<string> {
  const line = new SenderQueue<string>();
  for (const [item, of, isNewcomer] of items) line.add(item, { of, isNewcomer });
  return line;
}

function takeThem(line: SenderQueue<string>, mayBeNewcomer = true): readonly string[] {
  const taken: string[] = [];
  for (;;) {
    const item = line.take(mayBeNewcomer);
    if (item === undefined) return taken;
    taken.push(item);
  }
}

describe('a fair line', () => {
  it('lets senders take turns, and keeps the order of each', () => {
    const line = lineOf(
      ['a1', one, false],
      ['a2', one, false],
      ['a3', one, false],
      ['b1', other, false],
      ['b2', other, false],
    );
    expect(line.size).toBe(5);
    expect(takeThem(line)).toEqual(['a1', 'b1', 'a2', 'b2', 'a3']);
    expect(line.size).toBe(0);
  });

  it('lets newcomers take turns with all others while they may have a place', () => {
    const items = () =>
      lineOf(['n1', one, true], ['n2', one, true], ['k1', one, false], ['k2', other, false]);
    expect(takeThem(items())).toEqual(['n1', 'k1', 'n2', 'k2']);
    const line = items();
    expect(line.doKnownWait).toBe(true);
    expect(takeThem(line, false)).toEqual(['k1', 'k2']);
    expect([line.size, line.doKnownWait]).toEqual([2, false]);
    expect(takeThem(line)).toEqual(['n1', 'n2']);
  });

  it('gives back all items that match, and keeps the others in order', () => {
    const line = lineOf(['a1', one, false], ['b1', other, false], ['a2', one, true]);
    expect(line.takeAll((item) => item.startsWith('a'))).toEqual(['a1', 'a2']);
    expect(takeThem(line)).toEqual(['b1']);
    line.add('a3', { of: one, isNewcomer: false });
    expect(line.size).toBe(1);
    expect(takeThem(line)).toEqual(['a3']);
  });

  it('stays in order however many come and go', () => {
    const line = new SenderQueue<number>();
    const taken: number[] = [];
    for (let number = 0; number < 10_000; number++) {
      line.add(number, { of: one, isNewcomer: false });
      if (number % 3 > 0) taken.push(line.take() ?? -1);
    }
    while (line.size > 0) taken.push(line.take() ?? -1);
    expect(taken).toEqual(Array.from({ length: 10_000 }, (_, number) => number));
  });
});
