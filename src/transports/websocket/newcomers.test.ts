import { expect, it } from 'bun:test';
import { Newcomers } from './newcomers.ts';

function newcomer() {
  const log: (number | string)[] = [];
  return {
    log,
    send: (frame: string) => void log.push(JSON.parse(frame).event),
    close: (code: number) => void log.push(code),
  };
}

it('closes those with 4200 that have waited for longest', () => {
  const newcomers = new Newcomers();
  const [first, left, second] = [newcomer(), newcomer(), newcomer()];
  for (const one of [first, left, second]) newcomers.add(one);
  newcomers.delete(left);

  newcomers.end(1);
  expect([first.log, left.log, second.log]).toEqual([['pusher:error', 4200], [], []]);
  newcomers.end(newcomers.size);
  expect(second.log).toEqual(['pusher:error', 4200]);
  expect(newcomers.size).toBe(0);
});

it('lets 10,000 wait, and then closes the oldest', () => {
  const newcomers = new Newcomers();
  const all = Array.from({ length: 10_001 }, newcomer);
  for (const one of all) newcomers.add(one);
  expect(newcomers.size).toBe(10_000);
  expect(all.filter(({ log }) => log.length > 0)).toEqual(all.slice(0, 1));
});
