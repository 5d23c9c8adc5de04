import { describe, expect, it } from 'bun:test';
import type { RedisProcess } from '../check-server.ts';
import { DataLine, SeenMasters } from './data-line.ts';

const NEVER = '0'.repeat(40);

const process = (id: string, more: Partial<RedisProcess> = {}): RedisProcess => ({
  id,
  dataId: `data of ${id}`,
  formerDataId: NEVER,
  ageSeconds: 1_000,
  timeMicroseconds: 0,
  ...more,
});

/** Whether a slot keeps its data when one process follows another, of which others may have been seen as masters before. */
function keeps(
  before: RedisProcess,
  after: RedisProcess,
  {
    seen = [],
    goneMs = 500,
  }: { readonly seen?: readonly RedisProcess[]; readonly goneMs?: number } = {},
): boolean {
  const masters = new SeenMasters();
  const line = new DataLine(masters);
  line.follow(before, { nowMs: 0, answeredAtMs: Number.NEGATIVE_INFINITY });
  for (const one of seen) masters.note(one, 1_000);
  const { id } = line;
  line.follow(after, { nowMs: 5_000 + goneMs, answeredAtMs: 5_000 });
  return line.id === id;
}

describe('a slot at another process than before', () => {
  it('has its data at the same process', () => {
    expect(keeps(process('a'), process('a'))).toBe(true);
  });

  it('has moved with its data to a master that was never promoted', () => {
    expect(keeps(process('a'), process('b'))).toBe(true);
  });

  it('has moved with its data to a master that was one all the time', () => {
    const b = process('b', { formerDataId: 'data of c' });
    expect(keeps(process('a'), b, { seen: [b] })).toBe(true);
    expect(keeps(process('a'), b)).toBe(false);
  });

  it('may have lost writes at a replica that was promoted', () => {
    const b = process('b', { formerDataId: 'data of a' });
    expect(keeps(process('a'), b)).toBe(false);
    expect(keeps(process('a'), b, { seen: [b] })).toBe(false);
  });

  it('may have lost writes at a master that was promoted after it was seen', () => {
    const promoted = process('b', { formerDataId: 'data of c' });
    expect(keeps(process('a'), promoted, { seen: [process('b')] })).toBe(false);
  });

  it('may have lost writes at a process that was promoted again', () => {
    expect(keeps(process('a'), process('a', { formerDataId: 'data of b' }))).toBe(false);
  });

  it('may have lost writes at a process that has just started', () => {
    expect(keeps(process('a'), process('b', { ageSeconds: 0 }))).toBe(false);
    expect(keeps(process('a'), process('b', { ageSeconds: 2 }), { goneMs: 3_000 })).toBe(false);
  });

  it('is judged by its content alone where the service does not name processes', () => {
    expect(keeps(process(''), process('', { ageSeconds: 0 }))).toBe(true);
  });
});
