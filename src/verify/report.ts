import { printable } from '../runtime/logging/printable.ts';
import type { RuleName, RuleResult, Verdict, Witness } from './check/verdict.ts';
import { ruleNames } from './check/verdict.ts';

/** A verdict, and what the history itself does not say. */
export interface Report {
  readonly verdict: Verdict;
  /** The name of the run, unless it is a recording. */
  readonly run?: string;
  /** The address, or the file. */
  readonly of: string;
  readonly cuts?: number;
  /** Where the recording was kept. */
  readonly history?: string | undefined;
}

/** The witnesses of one rule that a person is shown. */
const SHOWN_MAX = 5;

/** Why a rule was not tried, where it is not plain. */
const untried: Readonly<Partial<Record<RuleName, string>>> = {
  resumes: 'no client resumed in a channel that keeps a history (--kept)',
  members: 'there was no presence channel',
  present: 'there was no calm time of 5 s in which all clients were subscribed',
  counts: 'subscribers are not told how many they are, or there was no calm time',
  webhooks: 'nothing listened for webhooks (--webhooks)',
  pushes: 'no notifications were published',
  live: 'no notifications were published with `live`',
};

const words: Readonly<Record<RuleResult['state'], string>> = {
  held: 'held',
  broken: 'broken',
  excused: 'excused',
  'not-tried': 'not tried',
};

const STATE_WIDTH = 9;
const RULE_WIDTH = Math.max(...ruleNames.map(({ length }) => length));

/** Whether no promise was broken. */
export function isKept({ rules }: Verdict): boolean {
  return Object.values(rules).every(({ state }) => state !== 'broken');
}

/** The verdict for a terminal. */
export function reportText(report: Report): string {
  const { verdict, history } = report;
  const rules = rows(verdict).map(([state, rule, text]) =>
    [state.padEnd(STATE_WIDTH), rule.padEnd(RULE_WIDTH), text].join(' ').trimEnd(),
  );
  const recovered = verdict.recovered.map(
    ({ t, seconds }) =>
      `${'recovered'.padEnd(STATE_WIDTH)} ${
        seconds === null
          ? `not yet after the fault at ${(t / 1000).toFixed(1)} s`
          : `${seconds.toFixed(1)} s after ${(t / 1000).toFixed(1)} s: all clients were connected, subscribed and right again`
      }`,
  );
  const kept = history === undefined ? '' : ` History: ${history}`;
  return [headline(report), ...rules, ...recovered, `${sum(verdict)}${kept}`].join('\n');
}

/** The verdict for a page. */
export function reportMarkdown(report: Report): string {
  const { verdict } = report;
  // Names may come from a server, or from somebody's recording.
  const cell = (text: string) =>
    printable(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('|', '\\|');
  return [
    '# What was promised, and kept',
    '',
    `${cell(headline(report))}.`,
    '',
    '| promise | result | |',
    '| --- | --- | --- |',
    ...rows(verdict).map(([state, rule, text]) => `| \`${rule}\` | ${state} | ${cell(text)} |`),
    '',
    ...verdict.recovered.map(({ t, seconds }) =>
      seconds === null
        ? `After the fault at ${(t / 1000).toFixed(1)} s, not everything was right again.`
        : `After the fault at ${(t / 1000).toFixed(1)} s, everything was right again within ${seconds.toFixed(1)} s.`,
    ),
    '',
    sum(verdict),
    '',
  ].join('\n');
}

/** The verdict for programs. */
export function reportJson({ verdict, run, cuts }: Report): object {
  const { seconds, clients, triggers, deliveries, rules, witnesses, recovered } = verdict;
  return {
    run: run ?? null,
    seconds,
    clients,
    triggers,
    deliveries,
    cuts: cuts ?? null,
    rules,
    broken: witnesses.filter(({ excuse }) => excuse === undefined),
    excused: witnesses.filter(({ excuse }) => excuse !== undefined),
    recovered,
  };
}

function headline({ verdict, run, of, cuts }: Report): string {
  const { seconds, clients, triggers, deliveries } = verdict;
  const counted = [
    `${Math.round(seconds)} s`,
    `${count(clients)} clients`,
    `${count(triggers)} triggers`,
    `${count(deliveries)} deliveries`,
    ...(cuts === undefined ? [] : [`${count(cuts)} cuts`]),
  ];
  return `${run === undefined ? of : `${run} at ${of}`}: ${counted.join(', ')}`;
}

type Row = readonly [state: string, rule: string, text: string];

function rows({ rules, witnesses, channels }: Verdict): readonly Row[] {
  return ruleNames.flatMap((rule): readonly Row[] => {
    const { state, checked, broken, excused } = rules[rule];
    const seen = witnesses.filter((witness) => witness.rule === rule);
    const wrong = (all: readonly Witness[], how: string, times: number): readonly Row[] => {
      const shown = all
        .slice(0, SHOWN_MAX)
        .map(
          ({ text, excuse }): Row => [
            how,
            rule,
            excuse === undefined ? text : `${text} (${excuse})`,
          ],
        );
      const more = times - shown.length;
      return more > 0 ? [...shown, [how, rule, `${count(more)} more`]] : shown;
    };
    if (state === 'not-tried')
      return [[words[state], rule, untried[rule] ?? 'nothing was received']];
    if (state === 'held') {
      const what = rule === 'order' ? ` events of ${channels} channels in one order` : ' checked';
      return [[words[state], rule, count(checked) + what]];
    }
    return [
      ...wrong(
        seen.filter(({ excuse }) => excuse === undefined),
        words.broken,
        broken,
      ),
      ...wrong(
        seen.filter(({ excuse }) => excuse !== undefined),
        words.excused,
        excused,
      ),
    ];
  });
}

function sum({ rules }: Verdict): string {
  const states = Object.values(rules).map(({ state }) => state);
  const counted = (['held', 'broken', 'excused', 'not-tried'] as const)
    .map((state) => [states.filter((one) => one === state).length, words[state]] as const)
    .filter(([times]) => times > 0)
    .map(([times, word]) => `${times} ${word}`);
  return `${states.length} promises: ${counted.join(', ')}.`;
}

const count = (number: number) => number.toLocaleString('en');
