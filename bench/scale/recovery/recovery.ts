import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { isKept, reportText } from '../../../src/verify/report.ts';
import { USUAL } from '../../../test/faults/amounts.ts';
import { allScenes } from '../../../test/faults/scenes/all.ts';
import { describeConditions } from '../../machine/conditions.ts';
import { countOf, UsageError } from '../../options.ts';
import { printConditions } from '../../report.ts';
import { scaleCommand } from '../command.ts';
import { evidenceOf, printRecovery, type SceneRecovery } from './figures.ts';

/** `npm run bench -- recovery`: how long after a fault clients are right again. */

export const recovery = scaleCommand({
  name: 'recovery',
  about: `Runs the scenes of npm run test:faults, which break real servers under the clients of fanfare verify, and prints how many
seconds after a fault the first, half and all of the clients that it has reached are right again: connected, subscribed, and
with the right list of members. No client goes by itself meanwhile.`,
  options: {
    only: { type: 'string', default: '' },
    kills: { type: 'string', default: '5' },
  },
  help: [
    ['--only TEXT', 'the scenes whose names have this text'],
    ['--kills N', 'how often servers are killed, and lose their power, in each scene of these (5)'],
  ],
  async measure(values, record) {
    const kills = countOf(values.kills, { option: '--kills', min: 1 });
    console.log(printConditions(describeConditions('not pinned')));
    const scenes: SceneRecovery[] = [];
    for await (const one of scenesOf(values.only, kills)) {
      scenes.push(one);
      console.error(`${one.scene}: ${one.why ?? `${one.recovered.length} faults`}`);
      record(evidenceOf(one, kills));
    }
    if (scenes.length === 0) throw new UsageError(`no scene has "${values.only}" in its name`);
    console.log(`\n${printRecovery(scenes)}`);
    const isHeld = scenes.every(({ isRun, why }) => !isRun || why === undefined);
    return { figures: { kills, scenes }, isHeld };
  },
});

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
      const { verdict, problems } = await scene.run({
        seed,
        file,
        stop: stop.signal,
        isQuiet: true,
      });
      const { recovered } = verdict;
      const kept = isKept(verdict);
      if (!kept) console.error(reportText({ verdict, of: scene.name, history: file }));
      const faults = kept ? problems : [...problems, 'a promise was broken'];
      const why = faults.length === 0 ? {} : { why: `${faults.join('; ')}; seed ${seed}` };
      yield { scene: scene.name, isRun: true, recovered, load, ...why };
    }
  } finally {
    // A scene that is not as promised leaves its history.
    if (readdirSync(folder).length === 0) rmSync(folder, { recursive: true });
  }
}
