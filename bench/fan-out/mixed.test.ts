import { expect, it } from 'bun:test';
import { movements } from './mixed.ts';

const run = (p99Ms: number) => ({
  step: {
    publishesPerSecond: 1,
    expected: 1,
    delivered: 1,
    missing: 0,
    duplicated: 0,
    refused: 0,
    firstRefusal: '',
    lost: 0,
    cutShort: false,
    p50Ms: 1,
    p99Ms,
    p999Ms: p99Ms,
    maxMs: p99Ms,
    pacingP99Ms: 0,
    framesPerRead: 1,
    busyShare: 0.5,
  },
  cpu: undefined,
  webhookEvents: 0,
  looks: 0,
});

it('compares runs that were made together', () => {
  expect(movements({ alone: [run(10), run(20)], mixed: [run(12), run(20)] })).toEqual([1.2, 1]);
});
