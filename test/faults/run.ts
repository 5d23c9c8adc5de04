import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ruleNames } from '../../src/verify/check/verdict.ts';
import { isKept, reportText } from '../../src/verify/report.ts';
import { allScenes } from './scenes/all.ts';
import type { Outcome } from './trial.ts';

/**
 * Breaks real servers while clients of `fanfare verify` use them, and decides which promises were kept: `npm run test:faults`.
 * `--kills N` kills so often in each scene of that name, 20 by default; `--only TEXT` runs the scenes whose names have this text.
 * Prints one line for each scene, and keeps the history of one that is not held. `TEST_SEED` repeats the choices of a run.
 */

const KILLS = 20;

const { values } = parseArgs({
  options: { kills: { type: 'string', default: String(KILLS) }, only: { type: 'string' } },
});
const times = Number(values.kills);
if (!Number.isInteger(times) || times < 1) throw new Error('--kills must be a whole number from 1');
const scenes = allScenes(times);
const chosen = scenes.filter(({ name }) => name.includes(values.only ?? ''));
if (chosen.length === 0) {
  throw new Error(
    `No scene has this in its name. All: ${scenes.map(({ name }) => name).join('; ')}`,
  );
}

const folder = mkdtempSync(join(tmpdir(), 'fanfare-faults-'));
const stop = new AbortController();
process.once('SIGINT', () => stop.abort(new Error('interrupted')));

const sums = { held: 0, 'not held': 0, 'not run': 0 };
for (const [at, scene] of chosen.entries()) {
  if (stop.signal.aborted) break;
  const lack = scene.lacks();
  if (lack !== undefined) {
    sums['not run']++;
    console.log(`not run   ${scene.name}: ${lack}`);
    continue;
  }
  const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  const file = join(folder, `${at + 1}.jsonl`);
  const outcome = await scene.run({ seed, file, stop: stop.signal });
  const isHeld = outcome.problems.length === 0 && isKept(outcome.verdict);
  sums[isHeld ? 'held' : 'not held']++;
  console.log(
    `${isHeld ? 'held    ' : 'NOT HELD'}  ${scene.name}: ${figures(outcome)}; seed ${seed}`,
  );
  if (isHeld) continue;
  for (const problem of outcome.problems) console.log(problem);
  console.log(reportText({ verdict: outcome.verdict, of: scene.name, history: file }));
}
if (sums['not held'] === 0) rmdirSync(folder);
console.log(
  Object.entries(sums)
    .map(([what, scenes]) => `${scenes} ${what}`)
    .join(', '),
);
process.exit(sums['not held'] === 0 && !stop.signal.aborted ? 0 : 1);

function figures({ verdict, done }: Outcome): string {
  const { seconds, triggers, deliveries, recovered, rules } = verdict;
  const slowest = Math.max(...recovered.map((one) => one.seconds ?? Number.POSITIVE_INFINITY));
  const excused = ruleNames.filter((name) => rules[name].excused > 0);
  return [
    done,
    `${Math.round(seconds)} s`,
    `${triggers.toLocaleString('en')} triggers`,
    `${deliveries.toLocaleString('en')} deliveries`,
    ...(recovered.length === 0 ? [] : [`all right again after ${slowest.toFixed(1)} s at most`]),
    ...excused.map((name) => `${rules[name].excused} × ${name} excused by a fault`),
  ].join(', ');
}
