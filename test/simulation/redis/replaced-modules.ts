import { join } from 'node:path';
import type { ReplacedModule } from '../servers/replaced-modules.ts';

/** The modules of a server over Redis that a world replaces. */
export const redisModules: readonly ReplacedModule[] = [
  {
    module: /\/src\/engines\/redis\/link\/open-socket\.ts$/,
    // Each release looks for an error of its own class, and names a server in its own way.
    text: `
      import { RedisAway } from './reply.ts';
      import { openModelledSocket } from ${JSON.stringify(join(import.meta.dir, 'open-socket.ts'))};
      export const openSocket = (party, options) =>
        openModelledSocket((party.endpoint ?? party).port, options, (why) => new RedisAway('cannot connect: ' + why, false));
    `,
  },
  {
    // Fewer, because most would hold nothing, and take most of the time. So channels also have some in common.
    module: /\/src\/engines\/partition\.ts$/,
    text: `
      export const PARTITIONS = 8;
      export const partitionOf = (app, channel) => Bun.hash.xxHash32(app.id + '/' + channel) % PARTITIONS;
    `,
  },
];
