import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { median } from '../report.ts';

const WAITS = 100;

/** Measures how long the disk takes to make one page durable: what is durable cannot be faster. Milliseconds. */
export function diskWaitMs(folder: string): number {
  const path = join(folder, `fanfare-disk-wait-${process.pid}`);
  const file = openSync(path, 'w');
  try {
    const page = Buffer.alloc(4096, 1);
    return median(
      Array.from({ length: WAITS }, () => {
        writeSync(file, page);
        const startMs = performance.now();
        fdatasyncSync(file);
        return performance.now() - startMs;
      }),
    );
  } finally {
    closeSync(file);
    rmSync(path);
  }
}
