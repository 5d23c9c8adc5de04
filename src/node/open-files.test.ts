import { describe, expect, it } from 'bun:test';
import { closeSync, openSync } from 'node:fs';
import { countOpenFiles, readOpenFiles, shareOpenFiles } from './open-files.ts';

describe('open files', () => {
  it('are shared out so that each part has its own', () => {
    for (const limit of [100, 256, 500, 1024, 65_536, 524_288, 1_048_576]) {
      const { push, threshold, connections } = shareOpenFiles(limit);
      expect(threshold + push).toBeLessThanOrEqual(limit);
      expect(limit - threshold - push).toBeGreaterThanOrEqual(32);
      // What the server itself has open counts as well.
      expect(connections).toBeLessThanOrEqual(threshold - 32);
      expect(connections).toBeGreaterThan(0);
    }
    expect(shareOpenFiles(1_048_576)).toMatchObject({ push: 40_000, threshold: 1_007_576 });
  });

  if (process.platform === 'linux') {
    it('are counted, and their limit is known', () => {
      const limit = readOpenFiles()?.limit ?? 0;
      expect(limit).toBeGreaterThan(100);
      const before = countOpenFiles(limit);
      const descriptors = Array.from({ length: 50 }, () => openSync('/dev/null', 'r'));
      const now = countOpenFiles(limit);
      for (const descriptor of descriptors) closeSync(descriptor);
      // An older kernel counts nothing.
      if (before > 0) expect(now - before).toBe(50);
    });
  }
});
