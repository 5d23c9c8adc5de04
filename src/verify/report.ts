import { printable } from '../runtime/logging/printable.ts';
import { type RuleName, ruleNames, type Verdict } from './check/verdict.ts';

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
    `${state.padEnd(STATE_WIDTH)} ${rule.padEnd(RULE_WIDTH)} ${text}`.trimEnd(),
  );
  const recovered = verdict.recovered.map(({ t, seconds }) =>
    seconds === null
      ? `recovered not yet after the fault at ${at(t)}`
      : `recovered ${seconds.toFixed(1)} s after ${at(t)}: all clients were connected, subscribed and right again`,
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
        ? `After the fault at ${at(t)}, not everything was right again.`
        : `After the fault at ${at(t)}, everything was right again within ${seconds.toFixed(1)} s.`,
    ),
    '',
    sum(verdict),
    '',
  ].join('\n');
}

/** The verdict for programs. */
export function reportJson({ verdict, run, cuts }: Report): object {
  const { seconds, clients, triggers, deliveries, rules, witnesses, recovered } = verdict;
  const [broken, excused] = [false, true].map((isExcused) =>
    witnesses.filter(({ excuse }) => (excuse !== undefined) === isExcused),
  );
  const counted = { seconds, clients, triggers, deliveries };
  return { run: run ?? null, ...counted, cuts: cuts ?? null, rules, broken, excused, recovered };
}

function headline({ verdict, run, of, cuts }: Report): string {
  const { seconds, clients, triggers, deliveries } = verdict;
  const sent = `${count(triggers)} triggers, ${count(deliveries)} deliveries`;
  const cut = cuts === undefined ? '' : `, ${count(cuts)} cuts`;
  const about = run === undefined ? of : `${run} at ${of}`;
  return `${about}: ${Math.round(seconds)} s, ${count(clients)} clients, ${sent}${cut}`;
}

type Row = readonly [state: string, rule: string, text: string];

function rows({ rules, witnesses, channels }: Verdict): readonly Row[] {
  return ruleNames.flatMap((rule): readonly Row[] => {
    const { state, checked, ...wrong } = rules[rule];
    if (state === 'not-tried')
      return [['not tried', rule, untried[rule] ?? 'nothing was received']];
    if (state === 'held') {
      const what = rule === 'order' ? ` events of ${channels} channels in one order` : ' checked';
      return [[state, rule, count(checked) + what]];
    }
    return (['broken', 'excused'] as const).flatMap((how): readonly Row[] => {
      const shown = witnesses
        .filter((one) => one.rule === rule && (one.excuse === undefined) === (how === 'broken'))
        .slice(0, SHOWN_MAX)
        .map(({ text, excuse }) => (excuse === undefined ? text : `${text} (${excuse})`));
      const more = wrong[how] - shown.length;
      const all = more > 0 ? [...shown, `${count(more)} more`] : shown;
      return all.map((text) => [how, rule, text]);
    });
  });
}

function sum({ rules }: Verdict): string {
  const all = Object.values(rules);
  const counted = (['held', 'broken', 'excused', 'not-tried'] as const)
    .map((state) => [all.filter((one) => one.state === state).length, state] as const)
    .filter(([times]) => times > 0)
    .map(([times, state]) => `${times} ${state.replace('-', ' ')}`);
  return `${all.length} promises: ${counted.join(', ')}.`;
}

const count = (number: number) => number.toLocaleString('en');
const at = (t: number) => `${(t / 1000).toFixed(1)} s`;
