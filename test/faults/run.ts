import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isKept, reportText } from '../../src/verify/report.ts';
import { Evidence } from '../../testing/evidence/evidence.ts';
import { SMALL, USUAL } from './amounts.ts';
import { evidenceOf, figuresOf } from './figures.ts';
import { hasOwnNetwork, inOwnNetwork, openNetwork } from './machine/namespace.ts';
import { allScenes } from './scenes/all.ts';
import type { Scene } from './trial.ts';

/**
 * Breaks real servers while clients of `fanfare verify` use them, and decides which promises were kept: `npm run test:faults`.
 * Prints one line for each scene, and keeps the history of one that is not held. `TEST_SEED` repeats the choices of a run.
 */

const { values } = parseArgs({
  options: {
    /** How often servers are killed, and their power is cut, in each scene of these. */
    kills: { type: 'string' },
    /** How long the scene without a fault lasts. */
    seconds: { type: 'string' },
    /** Runs the scenes whose names have this text. */
    only: { type: 'string' },
    /** Does everything once or twice, without upgrades, which need old versions. */
    small: { type: 'boolean', default: false },
    /** How many scenes run at the same time. */
    'at-once': { type: 'string', default: '1' },
    /** Keeps the results for `docs/use/evidence.md`. */
    record: { type: 'boolean', default: false },
  },
});
const usual = values.small ? SMALL : USUAL;
const amounts = {
  ...usual,
  kills: numberOf('kills', usual.kills),
  seconds: numberOf('seconds', usual.seconds),
};
const scenes = allScenes(amounts).filter(({ section }) => !values.small || section !== 'upgrades');
const chosen = scenes.filter(({ name }) => name.includes(values.only ?? ''));
if (chosen.length === 0) {
  throw new Error(
    `No scene has this in its name. All: ${scenes.map(({ name }) => name).join('; ')}`,
  );
}

if (hasOwnNetwork) openNetwork();
const evidence = values.record ? Evidence.open() : undefined;
const folder = mkdtempSync(join(tmpdir(), 'fanfare-faults-'));
const stop = new AbortController();
process.once('SIGINT', () => stop.abort(new Error('interrupted')));

const sums = { held: 0, 'not held': 0, 'not run': 0 };
const waiting = chosen.values();
await Promise.all(
  Array.from({ length: numberOf('at-once', 1) }, async () => {
    for (const scene of waiting) if (!stop.signal.aborted) sums[await runScene(scene)]++;
  }),
);
if (sums['not held'] === 0) rmdirSync(folder);
// The process that made the network counts this scene among the others.
if (!hasOwnNetwork) printSums();
process.exit(sums['not held'] === 0 && !stop.signal.aborted ? 0 : 1);

function printSums(): void {
  console.log(
    Object.entries(sums)
      .map(([what, count]) => `${count} ${what}`)
      .join(', '),
  );
}

/** Runs a scene, and prints and keeps what came of it. */
async function runScene(scene: Scene): Promise<keyof typeof sums> {
  const { name, section } = scene;
  const only = `--only ${JSON.stringify(name)}`;
  const options = (['kills', 'seconds'] as const)
    .filter((option) => values[option] !== undefined)
    .map((option) => `--${option} ${values[option]}`);
  const row = { section, name, command: ['npm run test:faults --', only, ...options].join(' ') };
  const why = scene.lacks();
  if (why !== undefined) {
    console.log(`not run   ${name}: ${why}`);
    evidence?.record({ ...row, result: 'not run', why, figures: {} });
    return 'not run';
  }
  if (scene.inOwnNetwork && !hasOwnNetwork) {
    const given = process.argv.slice(2);
    // The last one counts.
    const args = [import.meta.filename, ...given, '--only', name, '--at-once', '1'];
    return (await inOwnNetwork(args, stop.signal)) === 0 ? 'held' : 'not held';
  }
  const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  const file = join(folder, `${chosen.indexOf(scene) + 1}.jsonl`);
  const outcome = await scene.run({ seed, file, stop: stop.signal });
  const { verdict, problems } = outcome;
  const isHeld = problems.length === 0 && isKept(verdict);
  evidence?.record({ ...row, ...evidenceOf(outcome, isHeld, seed) });
  console.log(`${isHeld ? 'held    ' : 'NOT HELD'}  ${name}: ${figuresOf(outcome)}; seed ${seed}`);
  if (isHeld) return 'held';
  for (const problem of problems) console.log(problem);
  console.log(reportText({ verdict, of: name, history: file }));
  return 'not held';
}

function numberOf(option: 'kills' | 'seconds' | 'at-once', fallback: number): number {
  const number = Number(values[option] ?? fallback);
  if (Number.isInteger(number) && number >= 1) return number;
  throw new Error(`--${option} must be a whole number from 1`);
}
