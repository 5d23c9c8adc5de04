import { expect, it } from 'bun:test';
import type { StepResult } from '../load/open-loop.ts';
import { isWeathered, printOverload } from './overload.ts';

function step(given: Partial<StepResult>): StepResult {
  return {
    publishesPerSecond: 150,
    expected: 100,
    delivered: 100,
    missing: 0,
    duplicated: 0,
    refused: 0,
    firstRefusal: '',
    lost: 0,
    cutShort: false,
    p50Ms: 20,
    p99Ms: 400,
    p999Ms: 500,
    maxMs: 500,
    pacingP99Ms: 1,
    framesPerRead: 30,
    busyShare: 0.9,
    ...given,
  };
}

it('asks that nothing is lost, nobody closed, and half of all deliveries come soon', () => {
  expect(isWeathered({ steps: [step({})] })).toBe(true);
  expect(isWeathered({ steps: [step({}), step({ p50Ms: 150 }), step({})] })).toBe(true);
  expect(isWeathered({ steps: [step({ p50Ms: 101 })] })).toBe(false);
  for (const fault of ['missing', 'duplicated', 'refused', 'lost']) {
    expect(isWeathered({ steps: [step({}), step({ [fault]: 1 }), step({})] })).toBe(false);
  }
});

it('judges the server and not the floor, and misses where no rate held at all', () => {
  const good = { server: 'fanfare', held: 100, steps: [step({})] };
  const bad = { server: 'floor', held: 100, steps: [step({ lost: 3 })] };

  expect(printOverload([{ fanOut: 'hot', server: good, floor: bad }])).toContain(
    'target: hot: nothing lost, nobody closed, p50 <= 100 ms, reached',
  );
  const none = { server: 'fanfare', held: 0, steps: [] };
  expect(printOverload([{ fanOut: 'hot', server: none, floor: bad }])).toContain('ms, missed');
});
