import { expect, it } from 'bun:test';
import { channelOf } from './triggers.ts';

it('chooses channels at random, and the same ones in each run', () => {
  const channels = 1000;
  const hits = new Uint32Array(channels);
  for (let sequence = 0; sequence < channels; sequence += 1) {
    const channel = channelOf(sequence, channels);
    expect(channelOf(sequence, channels)).toBe(channel);
    hits[channel] = (hits[channel] ?? 0) + 1;
  }

  // As many draws as channels: chance leaves out 1/e of them.
  const missed = hits.filter((count) => count === 0).length / channels;
  expect(missed).toBeWithin(0.33, 0.41);
});
