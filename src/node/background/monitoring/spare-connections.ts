import type { SpareConnections } from '../../../asking/facts/servers.ts';

/** Memory per idle connection, in the process and in the kernel, rounded up. */
const CONNECTION_BYTES = 8 * 1024;

/** The share of free memory for idle connections. The rest is for their traffic. */
const SHARE = 0.5;

export interface SpareGiven {
  readonly connections: number;
  /** `channels.maxConnections`; 0: no limit. */
  readonly maxConnections: number;
  /** The share of the memory. */
  readonly memoryAllows: number;
  /** Connections that open files allow; `undefined`: not known. */
  readonly filesAllow: number | undefined;
  /** Memory that this process can still allocate. */
  readonly availableBytes: number;
}

/** Returns how many more connections fit, and which limit applies. */
export function spareConnections(given: SpareGiven): SpareConnections {
  const { connections, maxConnections, memoryAllows, filesAllow, availableBytes } = given;
  const byLimit: SpareConnections[] = [
    { connections: Math.floor((availableBytes * SHARE) / CONNECTION_BYTES), limitedBy: 'memory' },
    { connections: memoryAllows - connections, limitedBy: 'memory' },
  ];
  if (filesAllow !== undefined) {
    byLimit.push({ connections: filesAllow - connections, limitedBy: 'open-files' });
  }
  if (maxConnections > 0) {
    byLimit.push({ connections: maxConnections - connections, limitedBy: 'setting' });
  }
  const least = byLimit.reduce((a, b) => (b.connections <= a.connections ? b : a));
  return { ...least, connections: Math.max(0, least.connections) };
}
