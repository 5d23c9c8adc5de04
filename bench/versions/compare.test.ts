import { expect, it } from 'bun:test';
import { printVersions, ratiosOfPairs, type VersionComparison } from './compare.ts';

const us = (mainThread: number, allThreads: number) => ({ mainThread, allThreads });

// The machine was slower in the second pair, for both.
const comparison: VersionComparison = {
  work: { name: 'connect', description: 'connections that come and go', piece: 'connection' },
  otherName: 'v1',
  settingsLeftOut: ['realtime'],
  this: [us(11, 24), us(24, 50), us(12, 20)],
  other: [us(10, 20), us(20, 40), us(10, 20)],
};

it('divides each round by the round beside it', () => {
  expect(ratiosOfPairs(comparison, 'mainThread')).toEqual([1.1, 1.2, 1.2]);
});

it('prints the processor time of a piece, the median of the ratios, and their extremes', () => {
  expect(printVersions(comparison)).toBe(
    [
      'connect: connections that come and go',
      'µs of processor time per connection, 3 pairs of rounds',
      '             this version    v1  ratio       spread',
      'main thread          12.0  10.0   1.20  1.10 – 1.20',
      'all threads          24.0  20.0   1.20  1.00 – 1.25',
      'note: v1 does not know the settings realtime',
    ].join('\n'),
  );
});
