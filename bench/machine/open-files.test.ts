import { expect, it } from 'bun:test';
import { connectionsWithin, openFilesFor, settingsFor } from './open-files.ts';

it('is the smallest limit with which a server takes so many clients', () => {
  for (const connections of [1000, 13_200, 100_000, 1_000_000]) {
    const files = openFilesFor(connections);
    expect(connectionsWithin(files)).toBeGreaterThanOrEqual(connections);
    expect(connectionsWithin(files - 1)).toBeLessThan(connections);
  }
});

it('names both settings', () => {
  const said = settingsFor(1000);
  expect(said).toContain(`LimitNOFILE=${openFilesFor(1000)}`);
  expect(said).toContain('fs.nr_open');
});
