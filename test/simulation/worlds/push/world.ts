import type { World } from '../world.ts';
import { findProblems } from './checks.ts';
import { PushWorld } from './push-world.ts';

/** The delivery of publishes: the real pipeline and live stage, over modelled stores and gateways. */
export const push: World = {
  sabotages: { neither: 'live', both: 'live', 'double-push': 'pushes', 'lose-push': 'pushes' },
  async run(seed) {
    const world = new PushWorld(seed);
    await world.run();
    return world.history.end(seed, findProblems(world));
  },
};
