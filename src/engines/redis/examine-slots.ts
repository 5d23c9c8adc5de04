import type { ClusterServer, SlotMap } from './link/cluster/slot-map.ts';
import { SLOTS } from './link/cluster/slots.ts';
import type { RedisConnection } from './link/connection.ts';
import { textsOf } from './link/reply.ts';
import { failed, ok, type Result, warning } from './result.ts';

/** One of the slots that are used, and its place in their order. */
interface UsedSlot {
  readonly index: number;
  readonly number: number;
  readonly tag: string;
}

/** The slots that are used, by their master. */
export function slotsByMaster(
  map: SlotMap,
): readonly (readonly [ClusterServer, readonly [UsedSlot, ...UsedSlot[]]])[] {
  const found = new Map<ClusterServer, [UsedSlot, ...UsedSlot[]]>();
  for (const [index, slot] of SLOTS.entries()) {
    const master = map.masterOf(slot.number);
    if (master === undefined) continue;
    const known = [...found.keys()].find(
      ({ host, port }) => host === master.host && port === master.port,
    );
    const one = { index, ...slot };
    if (known === undefined) found.set(master, [one]);
    else found.get(known)?.push(one);
  }
  return [...found];
}

/** The size of a cluster, for people. */
export function describeCluster({ masters, servers }: SlotMap): string {
  const replicas = servers.length - masters.length;
  const count = (number: number, one: string) => `${number} ${one}${number === 1 ? '' : 's'}`;
  return `cluster of ${count(masters.length, 'master')} and ${count(replicas, 'replica')}`;
}

/** Checks that each slot has a master, and that these share them. */
export async function checkSlots(
  map: SlotMap,
  { connection }: { readonly connection: RedisConnection },
): Promise<Result> {
  const byMaster = slotsByMaster(map);
  const missing = SLOTS.filter(({ number }) => map.masterOf(number) === undefined);
  const shares = byMaster.map(([{ host, port }, slots]) => `${host}:${port} has ${slots.length}`);
  const detail = `of the ${SLOTS.length} slots that are used, ${shares.join(', ')}`;
  if (missing.length > 0) {
    const numbers = missing.map(({ number }) => number).join(', ');
    return failed(
      `these slots have no master: ${numbers}`,
      '`redis-cli --cluster check` says what is missing, and `redis-cli --cluster fix` gives the slots to a master.',
    );
  }
  if (await needsAllSlots(connection)) {
    return warning(
      `${detail}; when one master dies, all others refuse commands too`,
      'CONFIG SET cluster-require-full-coverage no, on each server.',
    );
  }
  const most = Math.max(...byMaster.map(([, slots]) => slots.length));
  if (byMaster.length > 1 && most > SLOTS.length / 2) {
    return warning(detail, 'Move slots to the other masters: `redis-cli --cluster rebalance`.');
  }
  return ok(detail);
}

/** Whether the servers stop when a slot has no master; `false` where that may not be asked. */
async function needsAllSlots(connection: RedisConnection): Promise<boolean> {
  const setting = 'cluster-require-full-coverage';
  const reply = await connection.request(['CONFIG', 'GET', setting]).catch(() => []);
  return textsOf(reply)[1] === 'yes';
}
