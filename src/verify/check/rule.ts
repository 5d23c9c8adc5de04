import type { LineOf, Op } from '../history/line.ts';
import type { Chain, Double, View } from './model.ts';
import type { Recording } from './recording.ts';
import type { Report } from './verdict.ts';

/** Looks at a line, the subscription that it is about, and the event that was received. The recording is as it was before. */
type Reader<O extends Op> = (line: LineOf<O>, view: View | undefined, event: number) => void;

/** Checks a promise while a history is gone through. */
export interface Rule {
  readonly see?: { readonly [O in Op]?: Reader<O> };
  /** Looks at a chain after the last line, when its events are marked. `doubles`: pairs of places where the same event came. */
  readonly chain?: (chain: Chain, doubles: readonly Double[]) => void;
  /** Looks at everything, after all chains. */
  readonly end?: () => void;
}

/** Makes a rule that looks at a recording, and reports what it finds. */
export type MakeRule = (recording: Recording, report: Report) => Rule;

/** A moment, as it is printed. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`;
}
