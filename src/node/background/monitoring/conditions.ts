import type { Checked, Condition } from '../../../asking/facts/servers.ts';
import { deliveryRules } from './delivery-rules.ts';
import { keySetRules } from './key-set-rules.ts';
import { machineRules } from './machine-rules.ts';
import { realtimeRules } from './realtime-rules.ts';
import type { ConditionRule, Found, Situation } from './rule.ts';
import { sourceRules } from './source-rules.ts';

export const rules: readonly ConditionRule[] = [
  ...machineRules,
  ...realtimeRules,
  ...deliveryRules,
  ...keySetRules,
  ...sourceRules,
];

/** The limit of findings per rule, so that one tenant with many faults does not hide others. */
const LISTED_MAX = 20;

/** Evaluates the rules, and remembers since when each finding has held. */
export class Conditions {
  /** When each finding first appeared. */
  private since = new Map<string, number>();

  check(situation: Situation): Checked {
    const { nowMs } = situation;
    const since = new Map<string, number>();
    const conditions = rules.flatMap(({ id, check }) => {
      const found = check(situation);
      const listed = found.slice(0, LISTED_MAX).map(({ key = '', ...one }): Condition => {
        const name = `${id} ${key}`;
        const sinceMs = one.sinceMs ?? this.since.get(name) ?? nowMs;
        since.set(name, sinceMs);
        return { id, ...one, sinceMs };
      });
      const rest = found.slice(LISTED_MAX);
      return rest.length === 0 ? listed : [...listed, summary(id, rest, nowMs)];
    });
    this.since = since;
    const isBad = ({ level }: Condition) => (level === 'bad' ? 0 : 1);
    return {
      checkedAtMs: nowMs,
      checked: rules.length,
      conditions: conditions.toSorted((a, b) => isBad(a) - isBad(b) || a.sinceMs - b.sinceMs),
    };
  }
}

function summary(id: string, rest: readonly Found[], nowMs: number): Condition {
  return {
    id,
    level: rest.some(({ level }) => level === 'bad') ? 'bad' : 'warn',
    text: `${rest.length} more of the same kind.`,
    advice: 'Check the first ones; the log has the others.',
    sinceMs: Math.min(...rest.map(({ sinceMs }) => sinceMs ?? nowMs)),
  };
}
