import type { RedisEndpoint } from '../address.ts';
import { RedisAway, type Reply } from '../reply.ts';

/** A server of a cluster. */
export interface ClusterServer extends RedisEndpoint {
  /** The id by which the cluster knows it. */
  readonly id: string;
}

/** Which master has which slots. */
export interface SlotMap {
  masterOf(slot: number): ClusterServer | undefined;
  /** The ids of the replicas of the master of a slot. */
  replicasOf(slot: number): readonly string[];
  /** All servers that it names, replicas too. */
  readonly servers: readonly ClusterServer[];
  /** Those of them that have a slot. */
  readonly masters: readonly ClusterServer[];
}

interface Range {
  readonly from: number;
  readonly to: number;
  readonly master: ClusterServer;
  readonly replicas: readonly string[];
}

/** A cluster has no more slots, so no more ranges of them. */
const RANGES_MAX = 16_384;
const SERVERS_MAX = 1_000;
const HOST_LENGTH_MAX = 255;

/**
 * Reads the reply to `CLUSTER SLOTS`. Throws `RedisAway` for one that makes no sense, or is too large. Source: Redis,
 * documentation of `CLUSTER SLOTS`. `asked`: the server that has answered.
 */
export function readSlots(reply: Reply, asked: RedisEndpoint): SlotMap {
  if (!Array.isArray(reply)) throw unusable('is no list');
  if (reply.length > RANGES_MAX) throw unusable(`has more than ${RANGES_MAX} ranges`);
  const servers = new Map<string, ClusterServer>();
  const ranges: Range[] = [];
  for (const row of reply) {
    const [from, to, ...nodes] = Array.isArray(row) ? row : [];
    const [master, ...replicas] = nodes.map((node) => readServer(node, asked));
    if (!isSlot(from) || !isSlot(to) || from > to || master === undefined) {
      throw unusable('has a range that cannot be read');
    }
    ranges.push({ from, to, master, replicas: replicas.map((one) => one?.id ?? '') });
    for (const server of [master, ...replicas]) {
      if (server !== undefined) servers.set(`${server.host} ${server.port}`, server);
    }
    if (servers.size > SERVERS_MAX) throw unusable(`names more than ${SERVERS_MAX} servers`);
  }
  const masters = new Map(ranges.map(({ master }) => [`${master.host} ${master.port}`, master]));
  const rangeOf = (slot: number) => ranges.find(({ from, to }) => from <= slot && slot <= to);
  return {
    masterOf: (slot) => rangeOf(slot)?.master,
    replicasOf: (slot) => rangeOf(slot)?.replicas ?? [],
    servers: [...servers.values()],
    masters: [...masters.values()],
  };
}

/** The server that a refusal such as `MOVED 511 10.0.0.2:6379` names. `asked`: the server that has refused. */
export function movedTo(message: string, asked: RedisEndpoint): RedisEndpoint | undefined {
  const { host, port } = /^MOVED \d+ (?<host>.*):(?<port>\d{1,5})$/.exec(message)?.groups ?? {};
  if (host === undefined || !isPort(Number(port)) || host.length > HOST_LENGTH_MAX)
    return undefined;
  return { host: isUnknown(host) ? asked.host : host, port: Number(port) };
}

function readServer(node: Reply, asked: RedisEndpoint): ClusterServer | undefined {
  const [host = null, port, id] = Array.isArray(node) ? node : [];
  if (host !== null && (typeof host !== 'string' || host.length > HOST_LENGTH_MAX))
    return undefined;
  if (!isPort(port)) return undefined;
  return { host: isUnknown(host) ? asked.host : host, port, id: String(id) };
}

/** A server that does not know its address means the one under which it was asked. */
function isUnknown(host: string | null): host is null | '' | '?' {
  return host === null || host === '' || host === '?';
}

function isSlot(value: Reply | undefined): value is number {
  return typeof value === 'number' && value >= 0 && value < RANGES_MAX;
}

function isPort(value: Reply | undefined): value is number {
  return typeof value === 'number' && value >= 1 && value <= 65_535;
}

function unusable(why: string): RedisAway {
  return new RedisAway(`the map of the cluster ${why}`, false);
}
