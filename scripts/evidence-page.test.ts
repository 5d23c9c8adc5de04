import { describe, expect, it } from 'bun:test';
import type { EvidenceRow } from '../testing/evidence/rows.ts';
import { printRows } from './evidence-page.ts';

const row: EvidenceRow = {
  section: 'faults',
  name: 'kills',
  command: 'npm run test:faults -- --kills 20',
  result: 'held',
  figures: { kills: 20, deliveries: 47_123, longest: '1.9 s' },
  commit: 'a'.repeat(40),
  version: '0.2.0',
  date: '2026-11-28',
  machine: { cpu: 'A CPU', cores: 2, memoryGiB: 23, kernel: '6.1' },
};

const print = (...rows: readonly EvidenceRow[]) =>
  printRows(rows, { mended: [], released: '0.1.0' });

describe('the page of evidence', () => {
  it('tells of each run what, the result, the figures, the commit, the date, the machine and the command', () => {
    expect(print(row)).toContain(
      '\n| kills | held | 20 kills, 47,123 deliveries, longest 1.9 s | aaaaaaaaaa, 2026-11-28, machine 1 | `npm run test:faults -- --kills 20` |\n',
    );
    expect(print(row)).toContain('\n1. A CPU, 2 cores, 23 GiB, Linux 6.1\n');
  });

  it('says that a run of a version before the last release is old', () => {
    expect(print({ ...row, version: '0.0.9' })).toContain('machine 1, old |');
  });

  it('lists what a machine could not run, and why, and not among the runs', () => {
    const page = print(row, { ...row, name: 'power', result: 'not run', why: 'no loop devices' });
    expect(page).toContain('\n- power: no loop devices\n');
    expect(page).not.toContain('| power |');
  });

  it('names the kinds of runs of which none is kept', () => {
    expect(print(row)).toContain('\n- Power: no run is kept\n');
    expect(print(row)).not.toContain('Real faults: no run');
  });

  it('counts machines in the order of their runs, each once', () => {
    const other = { ...row, name: 'pause', machine: { ...row.machine, cores: 64 } };
    const page = print(row, other, { ...row, name: 'redis' });
    expect(page).toContain('\n1. A CPU, 2 cores, 23 GiB, Linux 6.1\n2. A CPU, 64 cores,');
    expect(page).toMatch(/\| redis \|.* machine 1 \|/);
  });

  it('lists the faults that runs have found', () => {
    const mended = [
      { by: 'npm run x', rule: 'once', what: 'An event came twice. Mended in 0.2.0' },
    ];
    const page = printRows([row], { mended, released: '0.1.0' });
    expect(page).toContain('\n| An event came twice. Mended in 0.2.0 | once | `npm run x` |\n');
  });

  it('breaks no table by what a text holds', () => {
    expect(print({ ...row, name: 'a | b' })).toContain('| a \\| b | held |');
  });
});
