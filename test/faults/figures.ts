import { type RuleName, ruleNames } from '../../src/verify/check/verdict.ts';
import type { EvidenceResult } from '../../testing/evidence/rows.ts';
import type { Outcome } from './trial.ts';

/** What came of a scene, in one line. */
export function figuresOf(outcome: Outcome): string {
  const { verdict, done } = outcome;
  const { seconds, triggers, deliveries } = verdict;
  const recovered = recoveredOf(outcome);
  return [
    ...[...done].map(([what, times]) => `${times} × ${what}`),
    `${Math.round(seconds)} s`,
    `${triggers.toLocaleString('en')} triggers`,
    `${deliveries.toLocaleString('en')} deliveries`,
    ...(recovered === undefined
      ? []
      : [`all right again after ${recovered.median} mostly, ${recovered.slowest} at most`]),
    ...excusedOf(outcome).map(([name, times]) => `${times} × ${name} excused by a fault`),
  ].join(', ');
}

/** What is kept of it. */
export function evidenceOf(
  outcome: Outcome,
  isHeld: boolean,
  seed: number,
): Pick<EvidenceResult, 'result' | 'why' | 'figures'> {
  const { verdict, done, problems } = outcome;
  const { seconds, triggers, deliveries, witnesses } = verdict;
  const recovered = recoveredOf(outcome);
  const [first] = witnesses.filter(({ excuse }) => excuse === undefined);
  const why = problems[0] ?? (first === undefined ? undefined : `${first.rule}: ${first.text}`);
  return {
    result: isHeld ? 'held' : 'broken',
    ...(isHeld || why === undefined ? {} : { why }),
    figures: {
      ...Object.fromEntries(done),
      seconds: Math.round(seconds),
      triggers,
      deliveries,
      ...(recovered === undefined
        ? {}
        : { 'right again, median': recovered.median, 'right again, slowest': recovered.slowest }),
      ...Object.fromEntries(excusedOf(outcome).map(([name, times]) => [`excused: ${name}`, times])),
      seed,
    },
  };
}

/** How long after a fault everything was right again; `undefined` without a fault. */
function recoveredOf({ verdict }: Outcome) {
  const all = verdict.recovered
    .map(({ seconds }) => seconds ?? Number.POSITIVE_INFINITY)
    .toSorted((a, b) => a - b);
  const [median, slowest] = [all[Math.floor((all.length - 1) / 2)], all.at(-1)];
  if (median === undefined || slowest === undefined) return undefined;
  return { median: text(median), slowest: text(slowest) };
}

function text(seconds: number): string {
  return seconds === Number.POSITIVE_INFINITY ? 'never' : `${seconds.toFixed(1)} s`;
}

function excusedOf({ verdict: { rules } }: Outcome): readonly (readonly [RuleName, number])[] {
  return ruleNames
    .map((name) => [name, rules[name].excused] as const)
    .filter(([, times]) => times > 0);
}
