import { type Check, checks } from './checks.ts';
import { Examination, type ExaminedServer } from './examination.ts';
import { notChecked } from './finding.ts';
import type { DoctorReport } from './report.ts';

/** Makes every check of the table, in the order in which things can go wrong. */
export async function examine(subject: ExaminedServer, report: DoctorReport): Promise<void> {
  using examination = new Examination(subject, report);
  for (const check of checks) report.add(check.name, await make(check, examination));
}

async function make({ name, needs = [], skip, run }: Check, examination: Examination) {
  const { report } = examination;
  for (const needed of needs) {
    const before = report.of(needed);
    if (before?.result === 'failed') return notChecked(`because "${needed}" failed`);
    if (before?.result === 'not checked') return notChecked(before.detail);
    if (before === undefined) throw new Error(`${name} comes before ${needed}`);
  }
  const why = skip?.(examination);
  return why === undefined ? await run(examination) : notChecked(why);
}
