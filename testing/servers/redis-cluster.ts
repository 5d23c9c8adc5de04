import { readFileSync } from 'node:fs';
import { RedisClient } from 'bun';
import { eventually } from '../eventually.ts';
import { freePort } from './free-port.ts';
import { type OwnRedis, type RedisTlsFiles, startRedis } from './redis.ts';

/** One server of a cluster. */
export interface ClusterNode extends OwnRedis {
  /** The id that the cluster knows it by. */
  readonly id: string;
  /** Sends one command, past everything that is tested. */
  run(command: string, ...args: readonly (string | number)[]): Promise<unknown>;
}

/** A Redis Cluster of one test. */
export interface RedisCluster extends AsyncDisposable {
  /** Names one of its servers. */
  readonly url: string;
  readonly nodes: readonly ClusterNode[];
  /** Returns the master of a slot, as most servers see it. */
  masterOf(slot: number): Promise<ClusterNode>;
  /** Returns the slots of a master. */
  slotsOf(master: ClusterNode): Promise<readonly number[]>;
  /** Promotes the replica of a master, by which that becomes a replica. Settles when all servers know. */
  failOver(master: ClusterNode): Promise<void>;
  /** Settles when a replica was promoted in place of a master that was killed. */
  promoted(slot: number, before: ClusterNode): Promise<ClusterNode>;
  /** Adds a master without slots. */
  addMaster(): Promise<ClusterNode>;
  /** Moves a slot key by key, as `redis-cli --cluster reshard` does. */
  moveSlot(slot: number, to: ClusterNode): Promise<void>;
  /** Lets a master move slots by itself, all at once. Valkey can from 9.0 on. */
  migrateSlots(slots: readonly number[], to: ClusterNode): Promise<void>;
  /** Begins to move a slot. The function it returns moves the keys, and ends it. */
  beginMove(slot: number, to: ClusterNode): Promise<() => Promise<void>>;
}

export interface RedisClusterOptions {
  readonly masters?: number;
  readonly replicasPerMaster?: number;
  /** For all servers, such as `['--maxmemory', '50mb']`. */
  readonly options?: readonly string[];
  /** The servers, and the connections between them, speak TLS only. */
  readonly tls?: RedisTlsFiles;
}

const SLOTS = 16_384;
/** After this silence a server counts as failed. */
const NODE_TIMEOUT_MS = 1_000;
/** One that was stopped must not delay what others are asked. */
const CONNECTED_MAX_MS = 5_000;
/** Keys that one command moves. */
const MOVED_AT_ONCE = 20;

/** Starts a cluster of three masters, each with one replica, on free ports. */
export async function startRedisCluster({
  masters: count = 3,
  replicasPerMaster = 1,
  options = [],
  tls,
}: RedisClusterOptions = {}): Promise<RedisCluster> {
  await using parts = new AsyncDisposableStack();
  const nodes: ClusterNode[] = [];
  const start = async (owner: AsyncDisposableStack) => {
    const node = await startNode(owner, options, tls);
    nodes.push(node);
    return node;
  };
  await Promise.all(Array.from({ length: count * (1 + replicasPerMaster) }, () => start(parts)));
  const masters = nodes.slice(0, count);
  const [first] = masters;
  if (first === undefined) throw new Error('A cluster needs a master');
  for (const [n, master] of masters.entries()) {
    const range = [Math.ceil((n * SLOTS) / count), Math.ceil(((n + 1) * SLOTS) / count) - 1];
    await master.run('CLUSTER', 'SET-CONFIG-EPOCH', n + 1);
    await master.run('CLUSTER', 'ADDSLOTSRANGE', ...range);
  }
  for (const node of nodes.slice(1)) await meet(node, first);
  await allKnow(nodes, (text) => lines(text).length === nodes.length && !/handshake/.test(text));
  await areUp(nodes);
  for (const [n, replica] of nodes.slice(count).entries()) {
    await replica.run('CLUSTER', 'REPLICATE', masters[n % count]?.id ?? '');
  }
  await allKnow(
    nodes,
    (text) => (text.match(/ (?:myself,)?slave /g) ?? []).length === nodes.length - count,
  );
  await eventually(
    () => Promise.all(nodes.slice(count).map((node) => node.run('INFO', 'replication'))),
    (all) => all.every((info) => /master_link_status:up/.test(String(info))),
  );
  const running = parts.move();

  const idOf = async (slot: number): Promise<string> => {
    const votes = new Map<string, number>();
    const maps = await Promise.all(
      nodes.map((node) => node.run('CLUSTER', 'NODES').catch(() => '')),
    );
    for (const map of maps) {
      const owner = lines(String(map)).find((line) => line.slots.includes(slot));
      if (owner !== undefined) votes.set(owner.id, (votes.get(owner.id) ?? 0) + 1);
    }
    const [most] = [...votes].toSorted(([, one], [, other]) => other - one);
    return most?.[0] ?? '';
  };
  const nodeOf = (id: string) => {
    const node = nodes.find((one) => one.id === id);
    if (node === undefined) throw new Error(`No server has the id "${id}"`);
    return node;
  };
  const masterOf = async (slot: number) => nodeOf(await idOf(slot));
  const beginMove = async (slot: number, to: ClusterNode) => {
    const from = await masterOf(slot);
    await to.run('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
    await from.run('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id);
    return async () => {
      for (;;) {
        const keys = (await from.run('CLUSTER', 'GETKEYSINSLOT', slot, MOVED_AT_ONCE)) as string[];
        if (keys.length === 0) break;
        await from.run('MIGRATE', '127.0.0.1', to.port, '', 0, 10_000, 'KEYS', ...keys);
      }
      const masters = await mastersOf(nodes);
      for (const node of new Set([to, from, ...masters])) {
        await node.run('CLUSTER', 'SETSLOT', slot, 'NODE', to.id).catch(() => undefined);
      }
      await eventually(masterOf.bind(undefined, slot), (owner) => owner === to);
    };
  };
  return {
    url: `${tls === undefined ? 'redis' : 'rediss'}+cluster://127.0.0.1:${first.port}`,
    nodes,
    masterOf,
    beginMove,
    moveSlot: async (slot, to) => await (await beginMove(slot, to))(),
    async migrateSlots(slots, to) {
      const [first = 0] = slots;
      const from = await masterOf(first);
      const ranges = slots.flatMap((slot) => [slot, slot]);
      await from.run('CLUSTER', 'MIGRATESLOTS', 'SLOTSRANGE', ...ranges, 'NODE', to.id);
      const areThere = async () => {
        const owners = await Promise.all(slots.map((slot) => masterOf(slot)));
        return owners.every((owner) => owner === to);
      };
      await eventually(areThere, (are) => are);
    },
    async slotsOf(master) {
      const found = lines(String(await master.run('CLUSTER', 'NODES')));
      return found.find(({ id }) => id === master.id)?.slots ?? [];
    },
    async failOver(master) {
      const found = lines(String(await master.run('CLUSTER', 'NODES')));
      const replica = nodeOf(found.find(({ masterId }) => masterId === master.id)?.id ?? '');
      const ranges = found.find(({ id }) => id === master.id)?.slots ?? [];
      await replica.run('CLUSTER', 'FAILOVER');
      const [slot = 0] = ranges;
      await eventually(
        async () => {
          const maps = await Promise.all(
            nodes.map((node) => node.run('CLUSTER', 'NODES').catch(() => '')),
          );
          return maps
            .filter((map) => map !== '')
            .map((map) => lines(String(map)).find((line) => line.slots.includes(slot))?.id);
        },
        (ids) => ids.every((id) => id === replica.id),
      );
    },
    async promoted(slot, before) {
      const id = await eventually(
        () => idOf(slot),
        (found) => found !== before.id && found !== '',
      );
      return nodeOf(id);
    },
    async addMaster() {
      const node = await start(running);
      await meet(node, first);
      await allKnow(nodes, (text) => text.includes(node.id) && !/handshake/.test(text));
      await areUp([node]);
      return node;
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function startNode(
  owner: AsyncDisposableStack,
  options: readonly string[],
  tls: RedisTlsFiles | undefined,
): Promise<ClusterNode> {
  const own = [
    ...['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf'],
    // The default, 10,000 above the port, may be another server's, or above 65,535.
    ...['--cluster-port', String(await freePort())],
    ...['--cluster-node-timeout', String(NODE_TIMEOUT_MS)],
    ...['--cluster-require-full-coverage', 'no', '--cluster-replica-validity-factor', '0'],
    // A replica that has received nothing yet is not named.
    ...['--repl-ping-replica-period', '1'],
    ...(tls === undefined ? [] : ['--tls-cluster', 'yes']),
  ];
  const redis = owner.use(await startRedis([...own, ...options], tls));
  const url = tls === undefined ? redis.url : redis.url.replace('redis:', 'rediss:');
  const files = tls && {
    ca: readFileSync(tls.caFile, 'utf8'),
    cert: readFileSync(tls.certFile, 'utf8'),
    key: readFileSync(tls.keyFile, 'utf8'),
  };
  const run = async (command: string, ...args: readonly (string | number)[]) => {
    // One that is kept would wait for a server that was killed.
    const client = new RedisClient(url, {
      autoReconnect: false,
      connectionTimeout: CONNECTED_MAX_MS,
      ...(files === undefined ? {} : { tls: files }),
    });
    try {
      await client.connect();
      return await client.send(command, args.map(String));
    } finally {
      client.close();
    }
  };
  return { ...redis, run, id: String(await run('CLUSTER', 'MYID')) };
}

async function meet(node: ClusterNode, other: ClusterNode): Promise<void> {
  const found = (await other.run('CONFIG', 'GET', 'cluster-port')) as Record<string, string>;
  await node.run('CLUSTER', 'MEET', '127.0.0.1', other.port, found['cluster-port'] ?? '');
}

/** Settles when all servers see the cluster in this way. */
async function allKnow(
  nodes: readonly ClusterNode[],
  is: (text: string) => boolean,
): Promise<void> {
  await eventually(
    () => Promise.all(nodes.map(async (node) => String(await node.run('CLUSTER', 'NODES')))),
    (all) => all.every(is),
  );
}

async function areUp(nodes: readonly ClusterNode[]): Promise<void> {
  await eventually(
    () => Promise.all(nodes.map((node) => node.run('CLUSTER', 'INFO'))),
    (all) => all.every((info) => /cluster_state:ok/.test(String(info))),
  );
}

async function mastersOf(nodes: readonly ClusterNode[]): Promise<readonly ClusterNode[]> {
  const roles = await Promise.all(nodes.map((node) => node.run('ROLE').catch(() => [])));
  return nodes.filter((_, n) => (roles[n] as readonly unknown[])[0] === 'master');
}

interface NodeLine {
  readonly id: string;
  readonly masterId: string;
  readonly slots: readonly number[];
}

/** Reads the reply to `CLUSTER NODES`. */
function lines(text: string): readonly NodeLine[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [id = '', , , masterId = '', , , , , ...ranges] = line.split(' ');
      const slots = ranges
        .filter((range) => /^\d+(?:-\d+)?$/.test(range))
        .flatMap((range) => {
          const [from = 0, to = from] = range.split('-').map(Number);
          return Array.from({ length: to - from + 1 }, (_, n) => from + n);
        });
      return { id, masterId, slots };
    });
}
