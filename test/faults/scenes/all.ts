import type { Amounts } from '../amounts.ts';
import type { Scene } from '../trial.ts';
import { fullScenes } from './full.ts';
import { killScenes } from './kills.ts';
import { pauseScenes } from './pause.ts';
import { powerScenes } from './power.ts';
import { redisScenes } from './redis.ts';
import { sentinelScenes } from './sentinel.ts';
import { silentLinkScenes } from './silent-link.ts';
import { steadyScenes } from './steady.ts';
import { upgradeScenes } from './upgrade.ts';

/** Every scene, in the order in which they run. */
export function allScenes(amounts: Amounts): readonly Scene[] {
  return [
    ...steadyScenes(amounts),
    ...killScenes(amounts),
    ...pauseScenes(amounts),
    ...redisScenes(amounts),
    ...sentinelScenes(amounts),
    ...silentLinkScenes(amounts),
    ...powerScenes(amounts),
    ...fullScenes(amounts),
    ...upgradeScenes,
  ];
}
