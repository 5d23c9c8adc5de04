import type { Amounts } from '../amounts.ts';
import { type Installation, oneServer, twoServers } from '../installation.ts';
import { type Scene, scene, type Trial } from '../trial.ts';

const BETWEEN_MAX_MS = 4000;

/** Stops a server in the middle of what it does, and lets it continue. */
function pausing({ pauses }: Amounts) {
  return async (trial: Trial<Installation>) => {
    const { installation, random } = trial;
    for (const seconds of pauses) {
      await trial.pass(random.between(0, BETWEEN_MAX_MS));
      const at = random.between(0, installation.ports.length - 1);
      trial.fault('pause', { at, ms: seconds * 1000 });
      installation.signal(at, 'SIGSTOP');
      try {
        await trial.pass(seconds * 1000);
      } finally {
        installation.signal(at, 'SIGCONT');
      }
      trial.did(`pause of ${seconds} s`);
      await trial.settles();
    }
  };
}

export function pauseScenes(amounts: Amounts): readonly Scene[] {
  const act = pausing(amounts);
  return [
    scene({ name: 'pause: one server', start: (port) => oneServer(port, 1), act }),
    scene({
      name: 'pause: one of two servers over Redis',
      needs: ['redis-server'],
      start: twoServers,
      act,
    }),
  ];
}
