import { frameChanges } from '../../sabotage/frames.ts';
import { swallowings } from '../../sabotage/requests.ts';
import type { OldRelease } from '../../servers/old-release.ts';
import { playChannels, type Scene } from '../channels/play.ts';
import type { World } from '../world.ts';
import { ClusterServers } from './cluster-servers.ts';

/** How many webhook events are lost by `lose-webhook`. */
const LOST = 1 / 5;

/** Two or three servers over one or two Redis servers. */
export const cluster: World = {
  sabotages: {
    'lose-event': 'arrives',
    'double-event': 'once',
    'swap-events': 'order',
    'ghost-member': 'present',
    'silent-gap': 'resumes',
    'late-answer': 'arrives',
    'lose-webhook': 'webhooks',
  },
  run: async (seed) =>
    playChannels(seed, {
      // Requests of a session reach any server. A third of the seeds has WebSockets only, as most installations have.
      hasHttpTransports: seed.seed % 3 !== 2,
      sabotage(name, { kernel, network }) {
        network.tampering.frames = frameChanges[name]?.(kernel.random);
        network.tampering.swallows = swallowings[name]?.(kernel.random);
      },
      servers: (scene) => {
        const { random } = scene.kernel;
        const isLost = () => seed.sabotage === 'lose-webhook' && random.chance(LOST);
        return new ClusterServers(scene, { losesWebhook: isLost, old: undefined });
      },
    }),
};

/** The same over WebSockets, with servers of the latest release beside the present ones: each start of a server runs one of both. */
export const upgrade = (old: OldRelease): World => ({
  sabotages: {},
  run: async (seed) => {
    const servers = (scene: Scene) => {
      old.forgetChance();
      return new ClusterServers(scene, { losesWebhook: () => false, old });
    };
    const none = () => undefined;
    return playChannels(seed, { hasHttpTransports: false, sabotage: none, servers });
  },
});
