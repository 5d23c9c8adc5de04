import { describe, expect, it } from 'bun:test';
import { check } from './check/check.ts';
import { HEADER, rightHistory } from './check/histories.fixture.ts';
import type { Line } from './history/line.ts';
import { isKept, reportJson, reportMarkdown, reportText } from './report.ts';

const report = (lines: readonly Line[]) => ({
  verdict: check({ header: HEADER, lines }),
  run: 'verify-abc',
  of: 'https://ws.example.com',
  cuts: 3,
  history: 'run.jsonl',
});

const line = (op: Line['op'], fields: object) => ({ op, t: 1200, c: 7, n: 1, ...fields }) as Line;
const NAME = 'a|b<i>\u001b[2J';
const twice = [
  line('open', { socket: '1.1' }),
  line('subscribe', { ch: NAME }),
  line('subscribed', { ch: NAME }),
  line('trigger', { e: '311', ch: [NAME] }),
  line('event', { ch: NAME, e: '311' }),
  line('event', { ch: NAME, e: '311' }),
];

describe('a report', () => {
  it('names what held, what is broken and by which events, and what was not tried', () => {
    const text = reportText(report(twice));
    expect(text).toStartWith(
      'verify-abc at https://ws.example.com: 1 s, 1 clients, 1 triggers, 2 deliveries, 3 cuts\nheld      order    2 events of 1 channels in one order\n',
    );
    expect(text).toContain('\nbroken    once     client 7 received event 311 in ');
    expect(text).toContain('\nnot tried webhooks nothing listened for webhooks');
    expect(text).toEndWith('\n12 promises: 4 held, 1 broken, 7 not tried. History: run.jsonl');
    expect(isKept(report(twice).verdict)).toBe(false);
    expect(isKept(report(rightHistory(1, 300)).verdict)).toBe(true);
  });

  it('has a form for programs', () => {
    expect(reportJson(report(twice))).toMatchObject({
      run: 'verify-abc',
      triggers: 1,
      cuts: 3,
      rules: { once: { state: 'broken', checked: 2, broken: 1, excused: 0 } },
      broken: [{ rule: 'once', channel: NAME, client: 7, events: ['311'], t: 1200 }],
      recovered: [],
    });
  });

  it('is a page on which names of strangers are text', () => {
    const page = reportMarkdown(report(twice));
    expect(page).toContain(
      '| `once` | broken | client 7 received event 311 in a\\|b&lt;i>\\u001b[2J',
    );
    expect(page).not.toContain('\u001b');
  });
});
