import { describe, expect, it } from 'bun:test';
import { FakeClock } from '../../../../channels/hub.fixture.ts';
import type { RedisProcess } from '../check-server.ts';
import { DataLine, SeenMasters } from './data-line.ts';
import { HandOvers } from './hand-over.ts';

const NEVER = '0'.repeat(40);

const process = (id: string, more: Partial<RedisProcess> = {}): RedisProcess => ({
  id,
  dataId: `data of ${id}`,
  formerDataId: NEVER,
  ageSeconds: 1_000,
  timeMicroseconds: 0,
  ...more,
});

const AT = { host: 'a', port: 6379 };

/** A line in whose cluster a former master answers this to `INFO`. */
function open(info: string) {
  const masters = new SeenMasters();
  const handOvers = new HandOvers({
    timers: new FakeClock(),
    ask: (endpoint) =>
      endpoint === AT ? Promise.resolve(info) : Promise.reject(new Error('not asked')),
  });
  return { line: new DataLine({ masters, handOvers }), masters };
}

/** Whether a slot keeps its data when one process follows another, of which others may have been seen as masters before. */
function keeps(
  before: RedisProcess,
  after: RedisProcess,
  {
    seen = [],
    goneMs = 500,
  }: { readonly seen?: readonly RedisProcess[]; readonly goneMs?: number } = {},
): boolean {
  const { line, masters } = open('');
  line.follow(before, { endpoint: AT, nowMs: 0, answeredAtMs: Number.NEGATIVE_INFINITY });
  for (const one of seen) masters.note(one, 1_000);
  const { id } = line;
  line.follow(after, { endpoint: AT, nowMs: 5_000 + goneMs, answeredAtMs: 5_000 });
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

  const NOW = { endpoint: AT, nowMs: 5_500, answeredAtMs: 5_000 };
  const promoted = process('b', { formerDataId: 'data of a' });
  const continued = (dataId: string) =>
    `run_id:a\r\nrole:slave\r\nmaster_replid:data of b\r\nmaster_replid2:${dataId}`;

  it('has its data at a replica that was promoted, if the former master confirms it', async () => {
    const { line } = open(continued('data of a'));
    line.follow(process('a'), { ...NOW, nowMs: 0 });
    const { id } = line;
    await line.examine(promoted);
    line.follow(promoted, NOW);
    expect(line.id).toBe(id);
    // Another connection to it proves nothing of a second promotion.
    line.follow(process('b', { formerDataId: 'data of c' }), NOW);
    expect(line.id).not.toBe(id);
  });

  it('may have lost writes at another process than the one that was confirmed', async () => {
    const { line } = open(continued('data of a'));
    line.follow(process('a'), { ...NOW, nowMs: 0 });
    const { id } = line;
    await line.examine(promoted);
    line.follow(process('c', { formerDataId: 'data of a' }), NOW);
    expect(line.id).not.toBe(id);
  });

  it('knows the new id that the data get when the first replica of the master comes', async () => {
    const { line } = open(continued('data since then'));
    line.follow(process('a'), { ...NOW, nowMs: 0 });
    const { id } = line;
    line.confirm(process('a', { dataId: 'data since then' }));
    const now = process('b', { formerDataId: 'data since then' });
    await line.examine(now);
    line.follow(now, NOW);
    expect(line.id).toBe(id);
  });

  it('does not believe in an id that comes from a promotion', async () => {
    const { line } = open(continued('data since then'));
    line.follow(process('a'), { ...NOW, nowMs: 0 });
    const { id } = line;
    line.confirm(process('a', { dataId: 'data since then', formerDataId: 'data of c' }));
    const now = process('b', { formerDataId: 'data since then' });
    await line.examine(now);
    line.follow(now, NOW);
    expect(line.id).not.toBe(id);
  });
});
