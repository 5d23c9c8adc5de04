import type { LineOf, Op } from '../history/line.ts';
import type { Deliveries } from './deliveries.ts';
import type { Publishes } from './publishes.ts';
import type { Recording } from './recording.ts';
import type { Findings } from './verdict.ts';

/** Checks a promise while a history is gone through. */
export interface Rule {
  /** Looks at the lines of some kinds. The recording is as it was before the line. */
  readonly see?: { readonly [O in Op]?: (line: LineOf<O>) => void };
  /** Looks at everything, after the last line. */
  readonly end?: () => void;
}

/** What a rule looks at, and where it says what it has found. */
export interface Evidence {
  readonly recording: Recording;
  readonly findings: Findings;
  readonly deliveries: Deliveries;
  readonly publishes: Publishes;
}

/** A moment, as it is printed. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`;
}
