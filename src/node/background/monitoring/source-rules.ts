import type { SourceOfServer } from '../../../asking/facts/sources.ts';
import { type ConditionRule, duration, type Found, type Situation } from './rule.ts';

/** Rows that wait for longer are reported. */
const LATE_SECONDS = 30;

/** Rules about the outboxes of applications. */
export const sourceRules: readonly ConditionRule[] = [
  { id: 'source-away', alert: 'FanfareSourceAway', check: away },
  { id: 'source-late', alert: 'FanfareSourceLate', check: late },
  { id: 'source-rows-failed', alert: 'FanfareSourceRowsFailed', check: failed },
];

/** Begins a finding about a source. */
const about = ({ source, app }: SourceOfServer) => ({ key: `${source}`, app });

function away({ sources }: Situation): readonly Found[] {
  return sources
    .filter(({ state }) => state === 'away')
    .map((one) => ({
      ...about(one),
      level: 'bad',
      text: `The database of source ${one.source} (${one.url}) cannot be used: ${one.why}.`,
      advice:
        'What the application commits there is not sent meanwhile. Check that it is reachable from this server, its role, and `sources`.',
    }));
}

function late({ sources }: Situation): readonly Found[] {
  return sources
    .filter(({ state, lagSeconds }) => state !== 'away' && (lagSeconds ?? 0) > LATE_SECONDS)
    .map((one) => ({
      ...about(one),
      level: 'warn',
      // Without its age, which each server would find another of.
      text: `Rows in the outbox of source ${one.source} (${one.url}) wait for more than ${duration(LATE_SECONDS * 1_000)}${one.why === '' ? '' : `: ${one.why}`}.`,
      advice:
        'Nobody follows it, or its app is disabled, over a limit, or gets more than can be sent. `fanfare source list` says who follows.',
    }));
}

function failed({ sources }: Situation): readonly Found[] {
  return sources
    .filter((one) => (one.failed ?? 0) > 0)
    .map((one) => ({
      ...about(one),
      level: 'warn',
      text: `Rows in the outbox of source ${one.source} (${one.url}) can never be sent.`,
      advice:
        'Their column `failed` says why. Mend the application; then send them again by setting `failed` to NULL, or delete them.',
    }));
}
