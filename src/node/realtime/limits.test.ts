import { expect, it } from 'bun:test';
import { configSchema } from '../../config/schema.ts';
import { settingsOfLoop } from './limits.ts';

const { channels: settings } = configSchema.parse({
  channels: { waitingBytes: 1000, unfinishedBytes: 4_000_000, requestBytes: 1_500_000 },
});

it('leaves the settings of a single loop alone', () => {
  expect(settingsOfLoop(settings, 1)).toBe(settings);
});

it('divides the limits that several loops cannot count together', () => {
  expect(settingsOfLoop(settings, 2)).toEqual({
    ...settings,
    addressLimits: { connectionsPerSecond: 1000, framesPerSecond: 25_000 },
    waitingBytes: 500,
    unfinishedBytes: 2_000_000,
  });
});

it('leaves room for the largest request body', () => {
  expect(settingsOfLoop(settings, 4).unfinishedBytes).toBe(1_500_000);
});

it('keeps rates that are off off', () => {
  const addressLimits = { connectionsPerSecond: 0, framesPerSecond: 0 };
  expect(settingsOfLoop({ ...settings, addressLimits }, 4).addressLimits).toEqual(addressLimits);
});
