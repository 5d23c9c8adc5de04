import { findPinning } from '../cores.ts';

/** Who is held to which core. */
export interface DeliverPinning {
  /** The command for the server, to be put before its own. */
  readonly server: readonly string[];
  /** The command for gateways. */
  readonly gateway: readonly string[];
  /** The command for clients whose latency is measured: a gateway on their core must not hold them up. */
  readonly preferredLoad: readonly string[];
  /** The core of the gateways and clients. */
  readonly otherCore: number;
  /** For whoever reads the figures. */
  readonly description: string;
}

/** Before everybody who has no such priority. It takes rights that not everybody has. */
const PREFERRED = ['chrt', '-f', '1'];

/** Finds a core for the server, and another for everything else. Throws where there are none. */
export function findDeliverPinning(): DeliverPinning {
  const { server, load, description } = findPinning();
  const otherCore = Number(load.at(-1));
  if (load.length === 0) throw new Error('two cores and taskset are needed');
  const mayPrefer =
    Bun.which('chrt') !== null && Bun.spawnSync([...PREFERRED, 'true']).exitCode === 0;
  return {
    server,
    gateway: load,
    preferredLoad: mayPrefer ? [...PREFERRED, ...load] : load,
    otherCore,
    description: `${description}; gateways there as well, ${mayPrefer ? 'which clients of channels go before (SCHED_FIFO)' : 'with the same priority as clients of channels'}`,
  };
}
