import { describe, expect, it } from 'bun:test';
import { LineRing } from './line-ring.ts';
import type { KeptLine } from './log.ts';

const line = (text: string, owner = 'server'): KeptLine => ({ text, owner, level: 'info' });

describe('the last lines of the log', () => {
  it('are the last thousand, in their order and with rising numbers', () => {
    const ring = new LineRing(5);
    for (let n = 0; n < 1_500; n++) ring.add(line(String(n), n % 2 === 0 ? 'server' : 'app 3'));
    const all = ring.all();
    expect(all).toHaveLength(1_000);
    expect(all.map(({ n }) => n)).toEqual(all.map(({ text }) => Number(text) + 6));
    expect([all[0]?.text, all.at(-1)?.text]).toEqual(['500', '1499']);
    expect(ring.last).toBe(1_505);
  });

  it('take a mebibyte at most', () => {
    const ring = new LineRing(0);
    for (let n = 0; n < 500; n++) ring.add(line('x'.repeat(10_000)));
    const sum = ring.all().reduce((total, { text }) => total + text.length, 0);
    expect(sum).toBeGreaterThan(1_000_000);
    expect(sum).toBeLessThan(1_048_577);
  });

  it('of one owner do not drive out those of others', () => {
    const ring = new LineRing(0);
    for (let n = 0; n < 100; n++) ring.add(line(`quiet ${n}`));
    for (let n = 0; n < 10_000; n++) ring.add(line(`loud ${n}`, 'app loud'));
    const all = ring.all();
    expect(all.filter(({ owner }) => owner === 'server')).toHaveLength(100);
    expect(all.at(-1)?.text).toBe('loud 9999');
  });

  it('are passed on as they come, until nobody listens', () => {
    const ring = new LineRing(0);
    const heard: string[] = [];
    const stop = ring.listen(({ n, text }) => heard.push(`${n} ${text}`));
    ring.add(line('a'));
    stop();
    ring.add(line('b'));
    expect(heard).toEqual(['1 a']);
  });
});
