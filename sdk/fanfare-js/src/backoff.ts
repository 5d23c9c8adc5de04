const MAX_MS = 30_000;

/**
 * How long to wait after a number of failures: 1 s, doubled by each, and then between half of it and all of it, so that the
 * clients of a dead server do not come back in the same moment.
 */
export function backoffMs(failures: number): number {
  return Math.min(MAX_MS, 1000 * 2 ** failures) * (0.5 + Math.random() / 2);
}
