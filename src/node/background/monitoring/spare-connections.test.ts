import { expect, it } from 'bun:test';
import { spareConnections } from './spare-connections.ts';

const GIB = 1_073_741_824;
const given = {
  connections: 1_000,
  maxConnections: 0,
  memoryAllows: Number.POSITIVE_INFINITY,
  filesAllow: 40_000,
  availableBytes: 8 * GIB,
};

it('is what the lowest limit leaves', () => {
  expect(spareConnections(given)).toEqual({ connections: 39_000, limitedBy: 'open-files' });
  expect(spareConnections({ ...given, maxConnections: 5_000 })).toEqual({
    connections: 4_000,
    limitedBy: 'setting',
  });
  // Half of the free memory, at 8 KiB each.
  expect(spareConnections({ ...given, availableBytes: GIB / 64 })).toEqual({
    connections: 1_024,
    limitedBy: 'memory',
  });
  expect(spareConnections({ ...given, filesAllow: undefined })).toMatchObject({
    limitedBy: 'memory',
  });
});

it('is never negative', () => {
  expect(spareConnections({ ...given, connections: 50_000 })).toEqual({
    connections: 0,
    limitedBy: 'open-files',
  });
});
