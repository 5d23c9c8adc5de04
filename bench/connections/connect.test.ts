import { expect, it } from 'bun:test';
import type { LoopResult } from '../load/closed-loop.ts';
import { type ConnectComparison, connectScenarios, printConnect } from './connect.ts';

const run = (perSecond: number, serverCpu: number | undefined): LoopResult => ({
  completed: perSecond,
  perSecond,
  p50Ms: 1,
  p99Ms: 2,
  maxMs: 3,
  loadCpu: 0.5,
  cpu:
    serverCpu === undefined
      ? undefined
      : { server: serverCpu, serverSeconds: serverCpu, others: 0 },
});

function printed(server: LoopResult, floor: LoopResult): string {
  const [scenario] = connectScenarios;
  if (scenario === undefined) throw new Error('there is no scenario');
  const comparison: ConnectComparison = {
    scenario,
    serverName: 'fanfare',
    server: [server],
    floor: [floor],
  };
  return printConnect(comparison);
}

it('compares processor time as well, since the load may slow down the floor', () => {
  const text = printed(run(10_000, 1), run(10_000, 0.5));

  expect(text).toContain('target: ratio >= 0.70, reached');
  expect(text).toContain('target: by CPU time >= 0.70, missed');
});

it('does not report the processor time of a server that is not ours', () => {
  const text = printed(run(6900, undefined), run(10_000, 0.5));

  expect(text).toContain('target: ratio >= 0.70, missed');
  expect(text).not.toContain('by CPU time');
  expect(text).not.toContain('NaN');
});
