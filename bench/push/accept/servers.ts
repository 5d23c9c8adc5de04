import { join } from 'node:path';
import type { CheckedOut } from '../../../testing/servers/checked-out.ts';
import { type StartedServer, startFanfare, startFloor } from '../../servers.ts';
import { benchInstances } from './bench-instances.ts';

/** A server under load, up and ready. */
export interface AcceptingServer extends StartedServer {
  readonly pushPort: number;
  /** The store of what it has accepted; `undefined` if it stores nothing. */
  readonly storeFile: string | undefined;
}

/** A server that can be measured. Every start is a fresh one. */
export interface Contender {
  readonly name: string;
  /** `pin` is the command that pins it to its core, or empty. */
  start(pin: readonly string[]): Promise<AcceptingServer>;
}

/** `bench/push/accept/floor.ts`. */
export const floor: Contender = {
  name: 'floor',
  async start(pin) {
    const server = await startFloor(pin, join(import.meta.dir, 'floor.ts'));
    return { ...server, pushPort: server.app.port, storeFile: undefined };
  },
};

/** All of it comes from one address. */
const NO_ADDRESS_LIMITS = {
  connectionsPerSecond: 0,
  requestsPerSecond: 0,
  rowsPerSecond: 0,
  reportsPerSecond: 0,
};

/** Fanfare as an operator would start it, with a fresh store: this version, or another. */
export function fanfare(other?: CheckedOut): Contender {
  return {
    name: other?.name ?? 'fanfare',
    start(pin) {
      const instances = benchInstances.map(({ id, secretKey }) => ({
        id,
        secretKeys: [secretKey],
        limits: { publishesPerSecond: 0 },
      }));
      const push = { instances, addressLimits: NO_ADDRESS_LIMITS };
      return startFanfare(pin, { push, clone: other?.folder });
    },
  };
}
