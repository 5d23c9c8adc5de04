import { expect, it } from 'bun:test';
import { configSchema } from '../../config/schema.ts';
import { shareMemory } from '../memory/shares.ts';
import { settingsOfLoop } from './limits.ts';

const config = configSchema.parse({
  channels: { waitingBytes: 1000, unfinishedBytes: 4_000_000, requestBytes: 1_500_000 },
});
const { channels: settings } = config;
const { shares } = shareMemory({ memoryBytes: 2 ** 35, config, threads: 1, openFiles: undefined });

it('leaves the settings of a single loop alone', () => {
  expect(settingsOfLoop(settings, shares, 1)).toMatchObject({
    addressLimits: settings.addressLimits,
    waitingBytes: 1000,
    unfinishedBytes: 4_000_000,
  });
});

it('has the bounds that follow from the memory', () => {
  const { connections, subscriptions, historyBytes, frameBytes } = shares;
  expect(settingsOfLoop(settings, shares, 4)).toMatchObject({
    maxConnections: connections,
    maxSubscriptions: subscriptions,
    historyBytes,
    frameBytes,
  });
});

it('divides the limits that several loops cannot count together', () => {
  expect(settingsOfLoop(settings, shares, 2)).toMatchObject({
    addressLimits: { connectionsPerSecond: 1000, framesPerSecond: 25_000 },
    waitingBytes: 500,
    unfinishedBytes: 2_000_000,
  });
});

it('leaves room for the largest request body', () => {
  expect(settingsOfLoop(settings, shares, 4).unfinishedBytes).toBe(1_500_000);
});

it('keeps rates that are off off', () => {
  const addressLimits = { connectionsPerSecond: 0, framesPerSecond: 0 };
  const off = settingsOfLoop({ ...settings, addressLimits }, shares, 4);
  expect(off.addressLimits).toEqual(addressLimits);
});
