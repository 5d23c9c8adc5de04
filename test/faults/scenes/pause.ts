import { type Installation, oneServer, twoServers } from '../installation.ts';
import { type Scene, scene, type Trial } from '../trial.ts';

/** How long a server is paused, one after the other. Seconds. */
const PAUSES = [5, 20, 60];
const BETWEEN_MAX_MS = 4000;

/** Stops a server in the middle of what it does, and lets it continue. */
async function pausing(trial: Trial<Installation>): Promise<void> {
  const { installation, random } = trial;
  for (const seconds of PAUSES) {
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
}

export const pauses: readonly Scene[] = [
  scene({ name: 'pause: one server', start: (port) => oneServer(port, 1), act: pausing }),
  scene({
    name: 'pause: one of two servers over Redis',
    needs: ['redis-server'],
    start: twoServers,
    act: pausing,
  }),
];
