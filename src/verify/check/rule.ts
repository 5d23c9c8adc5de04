import type { Line, Op } from '../history/line.ts';

/** Checks promises while a history is gone through. */
export interface Rule {
  /** The kinds of lines that it looks at. */
  readonly ops: readonly Op[];
  /** Looks at a line. The recording is as it was before. */
  see(line: Line): void;
  /** Looks at everything, after the last line. */
  end(): void;
}

/** A moment, as it is printed. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`;
}
