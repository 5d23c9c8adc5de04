import { join } from 'node:path';
import type { ReplacedModule } from '../servers/replaced-modules.ts';

/** The modules of a server over Redis that a world replaces. */
export const redisModules: readonly ReplacedModule[] = [
  {
    module: /\/src\/engines\/redis\/link\/open-socket\.ts$/,
    text: `export { openSocket } from ${JSON.stringify(join(import.meta.dir, 'open-socket.ts'))};`,
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
