import type { Random } from '../../../testing/random.ts';
import type { ArrivingRequest } from '../network/sides.ts';

/** Whether a request is answered with 200 and thrown away. */
export type Swallowing = (request: ArrivingRequest) => boolean;

const SOME = 1 / 20;

/** Faults of how requests are answered, by name. */
export const swallowings: Readonly<Record<string, (random: Random) => Swallowing>> = {
  'late-answer': (random) => (request) =>
    /\/(?:batch_)?events\?/.test(request.target) && random.chance(SOME),
};
