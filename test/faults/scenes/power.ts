import type { Amounts } from '../amounts.ts';
import { DISK_PROGRAMS } from '../machine/own-disk.ts';
import { type OnOwnDisk, onOwnDisk, STORES, whyNoStore } from '../on-own-disk.ts';
import { type Scene, scene, type Trial } from '../trial.ts';
import { tooFew, untilUsed, WorkInStore } from '../work-in-store.ts';

/** How long a server runs before it is asked to change its store, and from its first answer until its power is cut. Milliseconds. */
const RUNS_MAX_MS = 3000;
const WORKS_MAX_MS = 1500;
/** How long the disk is gone before the programs are, and they before they are started again. Milliseconds. */
const BETWEEN_MAX_MS = 300;
const GONE_MAX_MS = 2000;
/** How long a cut may be put off because too little was answered before. Milliseconds. */
const PUT_OFF_MAX_MS = 120_000;
/** How long a store may repair itself. Milliseconds. */
const REPAIR_MAX_MS = 60_000;
const LOOK_MS = 50;

/** Cuts the power of a server and of its store, and looks whether everything is there that was answered. */
function cutting({ kills: times, killsTogether }: Amounts) {
  return async (trial: Trial<OnOwnDisk>) => {
    const { installation, random } = trial;
    const work = new WorkInStore(random);
    const password = installation.server.adminPassword;
    let triggers = 0;
    for (let done = 1; done <= times; done++) {
      const triggersBefore = trial.triggersAnswered;
      await trial.pass(random.between(0, RUNS_MAX_MS));
      const answersBefore = sumOf(work.answered);
      await work.begin(installation.server);
      // On a machine that is busy, the first answer takes seconds, and a cut before it shows nothing.
      if (!(await isEnough(trial, () => sumOf(work.answered) > answersBefore))) {
        throw new Error(`nothing was answered in ${PUT_OFF_MAX_MS / 1000} s before cut ${done}`);
      }
      await trial.pass(random.between(0, WORKS_MAX_MS));
      const answered = () => ({
        ...work.answered,
        triggers: triggers + trial.triggersAnswered - triggersBefore,
      });
      if (done === times) await isEnough(trial, () => tooFew(answered(), times).length === 0);
      ({ triggers } = answered());
      trial.fault('power', { at: 0 });
      work.cut();
      await installation.losePower(random.between(0, BETWEEN_MAX_MS));
      await work.ended();
      trial.did('power cut');
      await trial.pass(random.between(0, GONE_MAX_MS));
      await installation.restorePower();
      // A database repairs itself for some time after its start.
      await untilUsed(installation.server, REPAIR_MAX_MS);
      trial.fault('power', { at: 0 });
      const lost = await work.lost(installation.server, done === times ? 'all' : 'last');
      for (const what of lost) trial.problem(`lost by power cut ${done}: ${what}`);
      if (installation.server.adminPassword !== password) {
        trial.problem(`power cut ${done} has changed the password of the admin API`);
      }
      if (done % killsTogether === 0 || done === times) await trial.settles();
    }
    const answered = { ...work.answered, triggers };
    for (const [what, count] of Object.entries(work.answered)) trial.did(`${what} answered`, count);
    for (const problem of tooFew(answered, times)) trial.problem(problem);
  };
}

const sumOf = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** Lets a server work until enough was answered. Returns whether it was in time. */
async function isEnough(trial: Trial<OnOwnDisk>, look: () => boolean): Promise<boolean> {
  const startedAtMs = performance.now();
  while (performance.now() - startedAtMs < PUT_OFF_MAX_MS) {
    if (look()) return true;
    await trial.pass(LOOK_MS);
  }
  return false;
}

export function powerScenes(amounts: Amounts): readonly Scene[] {
  return STORES.map((store) =>
    scene({
      name: `power: one server, ${store}`,
      section: 'power',
      needs: DISK_PROGRAMS,
      lacks: () => whyNoStore(store),
      start: (port) => onOwnDisk(store, port),
      act: cutting(amounts),
    }),
  );
}
