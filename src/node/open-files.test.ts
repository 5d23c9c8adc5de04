import { describe, expect, it } from 'bun:test';
import { closeSync, openSync } from 'node:fs';
import { countOpenFiles, readOpenFiles, requireOpenFiles, shareOpenFiles } from './open-files.ts';

describe('the limit of open files', () => {
  it('gives each part a share of its own', () => {
    for (const limit of [128, 256, 500, 1024, 65_536, 524_288, 1_048_576]) {
      const { push, threshold, connections } = shareOpenFiles(limit);
      expect(threshold + push).toBeLessThanOrEqual(limit);
      expect(limit - threshold - push).toBeGreaterThanOrEqual(32);
      // The descriptors of the server itself count too.
      expect(connections).toBeLessThanOrEqual(threshold - 32);
      expect(connections).toBeGreaterThan(0);
    }
    expect(shareOpenFiles(1_048_576)).toMatchObject({ push: 40_000, threshold: 1_007_576 });
  });

  it('must allow what a server needs itself', () => {
    requireOpenFiles(128);
    expect(() => requireOpenFiles(127)).toThrow(
      'The limit of open files is 127, and a server needs 128 or more: raise LimitNOFILE of the unit, or ulimit -n of the shell',
    );
  });

  if (process.platform === 'linux') {
    it('is known on Linux, and descriptors are counted', () => {
      const limit = readOpenFiles()?.limit ?? 0;
      expect(limit).toBeGreaterThan(100);
      const before = countOpenFiles(limit);
      const descriptors = Array.from({ length: 50 }, () => openSync('/dev/null', 'r'));
      const now = countOpenFiles(limit);
      for (const descriptor of descriptors) closeSync(descriptor);
      // Older kernels do not count.
      if (before > 0) expect(now - before).toBe(50);
    });
  }
});
