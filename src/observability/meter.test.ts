import { expect, it } from 'bun:test';
import { printMetrics, TableMeter } from './meter.ts';

it('prints a histogram as Prometheus expects it, added up over loops', () => {
  const [one, two] = [new TableMeter(), new TableMeter()];
  one.observe('engineAnswers', 2 ** -14);
  one.observe('engineAnswers', 2 ** -12);
  two.observe('engineAnswers', 2 ** -12);
  two.observe('engineAnswers', 8);
  const lines = printMetrics([one.snapshot(), two.snapshot()])
    .split('\n')
    .filter((line) => line.includes('fanfare_engine_answer_seconds'));
  expect(lines[1]).toBe('# TYPE fanfare_engine_answer_seconds histogram');
  expect(lines.slice(2, 5)).toEqual([
    'fanfare_engine_answer_seconds_bucket{le="0.0001"} 1',
    'fanfare_engine_answer_seconds_bucket{le="0.00025"} 3',
    'fanfare_engine_answer_seconds_bucket{le="0.0005"} 3',
  ]);
  expect(lines.slice(-4)).toEqual([
    'fanfare_engine_answer_seconds_bucket{le="2.5"} 3',
    'fanfare_engine_answer_seconds_bucket{le="+Inf"} 4',
    'fanfare_engine_answer_seconds_sum 8.00054931640625',
    'fanfare_engine_answer_seconds_count 4',
  ]);
});

it('a label that the table of metrics lacks does not compile, because it would not be printed', () => {
  const meter = new TableMeter();
  // @ts-expect-error: no series has this close code.
  meter.count('connectionsRefused', 1, '4010');
  // @ts-expect-error: no series has this outcome.
  meter.setEach('webhookAttempts', { delivered: 1, lost: 1 });
  // @ts-expect-error: the series of this metric have a label.
  meter.count('connectionsRefused');
  // @ts-expect-error: a room counts under a label that no series has.
  const ofRoom: { readonly count: (id: 'quotaWarnings', by: number, left: '5%' | '2%') => void } =
    meter;
  ofRoom.count('quotaWarnings', 1, '2%');
  expect(printMetrics([meter.snapshot()])).not.toMatch(/4010|lost"|2%/);
});
