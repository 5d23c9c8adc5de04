import { expect, it } from 'bun:test';
import type { OtherConnections } from './ask.ts';
import { AskReports, type PartOfReport } from './ask-reports.ts';

function stage() {
  const sent: [origin: string, report: PartOfReport][] = [];
  return { sent, reports: new AskReports((origin, report) => void sent.push([origin, report])) };
}

function part(attempt: number, userId: string, others?: OtherConnections): PartOfReport {
  return { what: 'asked', attempt, connections: [[userId, 2]], others, loops: 2 };
}

it('reports once for all loops that got the question as one', () => {
  const { sent, reports } = stage();
  reports.add('a', part(1, 'ann'));
  reports.add('b', part(1, 'ann'));
  reports.add('a', part(2, 'ann'));
  expect(sent).toEqual([]);
  reports.add('a', part(1, 'bob'));
  const connections = [
    ['ann', 2],
    ['bob', 2],
  ] as const;
  expect(sent).toEqual([['a', { what: 'asked', attempt: 1, connections }]]);
});

it('names the connections of each loop that were not asked', () => {
  const { sent, reports } = stage();
  const [first, second] = ['one', 'two'].map((loop): OtherConnections => {
    return { loop, connections: [['ann', 3]] };
  });
  reports.add('a', part(1, 'ann', first));
  reports.add('a', part(1, 'ann', second));
  expect(sent[0]?.[1]).toMatchObject({ others: first, moreOthers: [second] });
});
