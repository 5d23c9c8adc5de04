import type { Amounts } from '../amounts.ts';
import { DISK_PROGRAMS } from '../machine/own-disk.ts';
import { type OnOwnDisk, onOwnDisk, STORES, whyNoStore } from '../on-own-disk.ts';
import { type Scene, scene, type Trial } from '../trial.ts';
import { tooFew, untilUsed, WorkInStore } from '../work-in-store.ts';
import { kill } from './kills.ts';

const BETWEEN_MIN_MS = 1000;
const BETWEEN_MAX_MS = 5000;
const WORKS_MS = 1000;
const FULL_MIN_MS = 4000;
const FULL_MAX_MS = 12_000;
/** How soon the store must be in use again. Milliseconds. */
const AGAIN_MAX_MS = 15_000;
const LOOK_MS = 200;

/** Fills the disk of a store, and frees it again. In the end, the server is killed: what is there is on the disk. */
function filling({ times }: Amounts) {
  return async (trial: Trial<OnOwnDisk>) => {
    const { installation, random } = trial;
    const { disk } = installation;
    const work = new WorkInStore(random);
    for (let done = 0; done < times; done++) {
      await trial.pass(random.between(BETWEEN_MIN_MS, BETWEEN_MAX_MS));
      await work.begin(installation.server);
      await trial.pass(WORKS_MS);
      const ms = random.between(FULL_MIN_MS, FULL_MAX_MS);
      work.ending();
      trial.fault('store-away', { ms });
      disk.fill();
      const end = performance.now() + ms;
      try {
        // What is accepted meanwhile must be kept as well, and some room may be left in the files of the store.
        while (performance.now() < end) {
          await Promise.race([work.ended(), trial.pass(end - performance.now())]);
          await trial.pass(LOOK_MS);
          work.stop();
          await work.ended();
          await work.begin(installation.server, 'mayFail');
        }
      } finally {
        disk.free();
      }
      trial.did('disk filled');
      work.stop();
      await work.ended();
      installation.restoreDatabase();
      await untilUsed(installation.server, AGAIN_MAX_MS);
      await trial.settles();
    }
    const before = await work.lost(installation.server, 'all');
    await kill(trial, 0);
    await installation.start(0);
    const after = await work.lost(installation.server, 'all');
    for (const what of [...before, ...after]) trial.problem(`lost: ${what}`);
    for (const [what, count] of Object.entries(work.answered)) trial.did(`${what} answered`, count);
    for (const problem of tooFew(work.answered, times)) trial.problem(problem);
    await trial.settles();
  };
}

export function fullScenes(amounts: Amounts): readonly Scene[] {
  return STORES.map((store) =>
    scene({
      name: `full: the disk of one server, ${store}`,
      needs: DISK_PROGRAMS,
      lacks: () => whyNoStore(store),
      start: (port) => onOwnDisk(store, port),
      act: filling(amounts),
    }),
  );
}
