import { expect, it } from 'bun:test';
import type { Look, LookOptions } from './ports.ts';
import { BELOW_ALL, Progress } from './progress.ts';
import { type OutboxResult, type RowKind, SENT, UNTRIED } from './row.ts';

type Given = readonly [id: number, result?: OutboxResult, kind?: RowKind];

function found(rows: readonly Given[], more: Partial<Exclude<Look, string>> = {}): Look {
  return {
    rows: rows.map(([id, , kind = 'event']) => ({ id: BigInt(id), kind, key: '', body: '' })),
    results: rows.map(([, result = SENT]) => result),
    isFull: false,
    running: [],
    readMs: 1,
    ...more,
  };
}

function optionsAt(progress: Progress, nowMs: number): LookOptions {
  const next = progress.next(nowMs);
  if (typeof next === 'number') throw new Error(`paused for ${next} ms`);
  return next;
}

/** Looks, and returns the milliseconds until the next look. */
function look(progress: Progress, nowMs: number, given: Look): number {
  optionsAt(progress, nowMs);
  return progress.looked(given, nowMs);
}

const LATER: OutboxResult = { result: 'later', why: '429', pauseMs: 1_000 };

it('looks at once after a row, soon for a second, and then at its usual pace', () => {
  const progress = new Progress(100);
  expect(look(progress, 0, found([[1]]))).toBe(0);
  expect(look(progress, 10, found([]))).toBe(25);
  expect(look(progress, 999, found([]))).toBe(25);
  expect(look(progress, 1_001, found([]))).toBe(100);
});

it('never looks more seldom after a row than the setting says', () => {
  const progress = new Progress(10);
  look(progress, 0, found([[1]]));
  expect(look(progress, 1, found([]))).toBe(10);
});

it('begins behind the last row, and looks at the whole table after a second or 20 times what that takes', () => {
  const progress = new Progress(100);
  expect(optionsAt(progress, 0).after).toBe(BELOW_ALL);
  progress.looked(found([[7], [9]], { readMs: 100 }), 0);
  expect(optionsAt(progress, 1_999).after).toBe(9n);
  expect(optionsAt(progress, 2_000).after).toBe(BELOW_ALL);
  progress.looked(found([], { readMs: 1 }), 2_000);
  expect(optionsAt(progress, 2_999).after).toBe(9n);
  expect(optionsAt(progress, 3_000).after).toBe(BELOW_ALL);
});

it('remembers of each running transaction behind which row it writes', () => {
  const progress = new Progress(100);
  look(progress, 0, found([[9]], { running: ['50'] }));
  expect(optionsAt(progress, 1).running).toEqual(new Map([['50', BELOW_ALL]]));
  progress.looked(found([[20]], { running: ['50', '60'] }), 1);
  const both = new Map([['50', BELOW_ALL], ['60', 9n]]); // biome-ignore format: one line
  expect(optionsAt(progress, 2).running).toEqual(both);
  progress.looked(found([], { running: ['60'] }), 2);
  expect(optionsAt(progress, 3).running).toEqual(new Map([['60', 9n]]));
});

it('stays before the first row that was not sent', () => {
  const progress = new Progress(100);
  look(progress, 0, found([[5], [6, UNTRIED], [7]]));
  expect(optionsAt(progress, 1).after).toBe(5n);
});

it('goes on behind a full look, also where that was below others, and after the ids have begun anew', () => {
  const progress = new Progress(100);
  look(progress, 0, found([[900]]));
  look(progress, 1_000, found([[5]], { isFull: true }));
  expect(optionsAt(progress, 1_001).after).toBe(5n);
  progress.looked(found([[950]]), 1_001);
  look(progress, 2_000, found([[1]]));
  expect(optionsAt(progress, 2_001).after).toBe(1n);
});

it('pauses the kind of a row that must wait, and then looks at the whole table', () => {
  const progress = new Progress(100);
  look(progress, 0, found([[5, LATER]]));
  expect(optionsAt(progress, 1)).toMatchObject({ kinds: ['publish'] });
  progress.looked(found([[8, SENT, 'publish']]), 1);
  expect(optionsAt(progress, 999)).toMatchObject({ kinds: ['publish'], after: 8n });
  expect(optionsAt(progress, 1_000)).toMatchObject({
    kinds: ['event', 'publish'],
    after: BELOW_ALL,
  });
});

it('says how long it is until a kind is looked for while all are paused', () => {
  const progress = new Progress(100);
  look(progress, 0, found([[5, LATER], [6, { ...LATER, pauseMs: 400 }, 'publish']])); // biome-ignore format: one line
  expect(progress.next(100)).toBe(300);
});

it('looks at the whole table after another server has followed', () => {
  const progress = new Progress(100);
  look(progress, 0, found([[9]], { running: ['50'] }));
  expect(look(progress, 1, 'followed-elsewhere')).toBe(100);
  expect(optionsAt(progress, 2)).toMatchObject({ after: BELOW_ALL, running: new Map() });
});
