import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Recovery } from '../../src/verify/check/verdict.ts';
import { isKept } from '../../src/verify/report.ts';
import { USUAL } from '../../test/faults/amounts.ts';
import { allScenes } from '../../test/faults/scenes/all.ts';
import { Evidence } from '../../testing/evidence/evidence.ts';
import type { EvidenceResult } from '../../testing/evidence/rows.ts';
import { describeConditions } from '../machine/conditions.ts';
import { countOf, parseOptions, UsageError, writeResults } from '../options.ts';
import { align, median, printConditions } from '../report.ts';

/** `npm run bench -- recovery`: how long after a fault clients are right again. */

const help = `Runs the scenes of npm run test:faults, which break real servers under the clients of fanfare verify, and prints how many
seconds after a fault the first, half and all of the clients that it has reached are right again: connected, subscribed, and
with the right list of members.

npm run bench -- recovery [options]

  --only TEXT  the scenes whose names have this text
  --kills N    how often servers are killed, and lose their power, in each scene of these (5)
  --json FILE  also write the results to this file
  --record     keep the results in bench/evidence
  --help       print this
`;

interface SceneRecovery {
  readonly scene: string;
  /** Why it was not run, or what is wrong with it. */
  readonly why?: string;
  readonly isRun: boolean;
  /** Of each fault. */
  readonly recovered: readonly Recovery[];
  readonly load: number;
}

const columns: readonly (readonly [head: string, figure: (all: readonly Recovery[]) => number])[] =
  [
    ['first', (all) => median(all.map(({ first }) => first ?? Number.POSITIVE_INFINITY))],
    ['half', (all) => median(all.map((each) => each.median ?? Number.POSITIVE_INFINITY))],
    ['all', (all) => median(all.map(({ seconds }) => seconds ?? Number.POSITIVE_INFINITY))],
    [
      'slowest',
      (all) => Math.max(...all.map(({ seconds }) => seconds ?? Number.POSITIVE_INFINITY)),
    ],
  ];

export async function recovery(args: string[]): Promise<number> {
  const { values } = parseOptions({
    args,
    options: {
      only: { type: 'string', default: '' },
      kills: { type: 'string', default: '5' },
      json: { type: 'string' },
      record: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  const kills = countOf(values.kills, { option: '--kills', min: 1 });
  const evidence = values.record ? Evidence.open() : undefined;
  console.log(printConditions(describeConditions('not pinned')));
  const found: SceneRecovery[] = [];
  for await (const one of scenesOf(values.only, kills)) {
    found.push(one);
    console.error(`${one.scene}: ${one.why ?? `${one.recovered.length} faults`}`);
    evidence?.record(evidenceOf(one, kills));
  }
  if (found.length === 0) throw new UsageError(`no scene has "${values.only}" in its name`);
  console.log(`\n${print(found)}`);
  await writeResults(values.json, { kills, scenes: found });
  return found.every(({ isRun, why }) => !isRun || why === undefined) ? 0 : 1;
}

async function* scenesOf(only: string, kills: number): AsyncGenerator<SceneRecovery> {
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-recovery-'));
  const stop = new AbortController();
  try {
    // Those with a fault, as far as they need no network of their own.
    const scenes = allScenes({ ...USUAL, kills, killsTogether: 1 }).filter(
      ({ section, inOwnNetwork }) => section !== 'verify' && !inOwnNetwork,
    );
    for (const [at, scene] of scenes.entries()) {
      if (!scene.name.includes(only)) continue;
      const load = loadavg()[0] ?? 0;
      const lack = scene.lacks();
      if (lack !== undefined) {
        yield { scene: scene.name, why: lack, isRun: false, recovered: [], load };
        continue;
      }
      const seed = Math.floor(Math.random() * 2 ** 31);
      const file = join(folder, `${at}.jsonl`);
      const { verdict, problems } = await scene.run({ seed, file, stop: stop.signal });
      const { recovered } = verdict;
      const faults = isKept(verdict) ? problems : [...problems, 'a promise was broken'];
      const why = faults.length === 0 ? {} : { why: `${faults.join('; ')}; seed ${seed}` };
      yield { scene: scene.name, isRun: true, recovered, load, ...why };
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const cell = (seconds: number): string => (Number.isFinite(seconds) ? seconds.toFixed(1) : 'never');

function print(found: readonly SceneRecovery[]): string {
  return [
    'Seconds from a fault until the first, half and all of the clients that it has reached were right again: medians of all faults',
    'of a scene, and the slowest one',
    ...align([
      ['', 'faults', ...columns.map(([head]) => head), ''],
      ...found.map(({ scene, recovered, why = '' }) => [
        scene,
        String(recovered.length),
        ...columns.map(([, figure]) => (recovered.length === 0 ? '' : cell(figure(recovered)))),
        why,
      ]),
    ]),
  ].join('\n');
}

function evidenceOf(
  { scene, why, isRun, recovered, load }: SceneRecovery,
  kills: number,
): EvidenceResult {
  const result = why === undefined ? 'measured' : 'broken';
  const figures = columns.map(([head, figure]) => [head, `${cell(figure(recovered))} s`]);
  return {
    section: 'recovery',
    name: scene,
    command: `npm run bench -- recovery --kills ${kills} --only '${scene}'`,
    result: isRun ? result : 'not run',
    ...(why === undefined ? {} : { why }),
    figures: {
      faults: recovered.length,
      ...(recovered.length === 0 ? {} : Object.fromEntries(figures)),
      'load average before': load.toFixed(1),
    },
  };
}
