import type { Amounts } from '../amounts.ts';
import { type Installation, oneServer, twoServers } from '../installation.ts';
import { type Scene, scene, type Trial } from '../trial.ts';

/** How long a server runs before it is killed, and how long it is gone. Milliseconds. */
const RUNS_MIN_MS = 200;
const RUNS_MAX_MS = 5000;
const GONE_MAX_MS = 2500;

/** Kills a server. Its sockets close when the process is gone: one that waits for a disk is killed seconds later. */
export async function kill(trial: Trial<Installation>, at: number): Promise<void> {
  trial.fault('kill', { at });
  await trial.installation.kill(at);
  trial.fault('kill', { at });
}

/** Kills servers, one at a time, and starts each again. */
function killing({ kills: times, killsTogether }: Amounts) {
  return async (trial: Trial<Installation>) => {
    const { installation, random } = trial;
    for (let done = 1; done <= times; done++) {
      await trial.pass(random.between(RUNS_MIN_MS, RUNS_MAX_MS));
      const at = random.between(0, installation.ports.length - 1);
      await kill(trial, at);
      trial.did('kill -9');
      await trial.pass(random.between(0, GONE_MAX_MS));
      await installation.start(at);
      if (done % killsTogether === 0 || done === times) await trial.settles();
    }
  };
}

export function killScenes(amounts: Amounts): readonly Scene[] {
  const act = killing(amounts);
  return [
    scene({ name: 'kills: one server with one thread', start: (port) => oneServer(port, 1), act }),
    scene({
      name: 'kills: two servers over Redis',
      needs: ['redis-server'],
      start: twoServers,
      act,
    }),
    scene({
      name: 'kills: one server with two threads',
      start: (port) => oneServer(port, 2),
      act,
    }),
  ];
}
