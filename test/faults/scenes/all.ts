import type { Scene } from '../trial.ts';
import { kills } from './kills.ts';
import { pauses } from './pause.ts';
import { powerCuts } from './power.ts';
import { redisScenes } from './redis.ts';
import { upgrades } from './upgrade.ts';

/** Every scene; servers are killed, and their power is cut, so many times. */
export const allScenes = (times: number): readonly Scene[] => [
  ...kills(times),
  ...pauses,
  ...redisScenes,
  ...powerCuts(times),
  ...upgrades,
];
