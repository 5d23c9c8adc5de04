import { describe, expect, it } from 'bun:test';
import { startFanfare } from '../../testing/servers/fanfare.ts';
import { TestHistory } from '../../testing/verify/test-history.ts';
import { ROOM, startCluster } from './cluster.ts';

/** All subscribers of a channel see its events and the changes of its members in one order, whatever they are connected to. */

const WATCHERS = 6;
const VISITS = 90;

/** These come and go more often than everybody is told. */
const FEW_GUESTS = 3;
const MANY_GUESTS = 30;

/** Guests come and go at all servers, while each server gets triggers. Returns what was wrong. */
async function watchGuests(ports: readonly number[], guests: number): Promise<readonly string[]> {
  using history = new TestHistory();
  const portOf = (n: number) => ports[n % ports.length] ?? 0;
  const enter = (n: number) => history.connect(portOf(n), { channels: [ROOM] });
  for (let n = 0; n < WATCHERS; n++) enter(n);
  const visitors = Array.from({ length: guests }, (_, n) => enter(n));
  await history.allAreThere();
  let isEnough = false;
  const visit = async (n: number) => {
    const own = visitors.filter((_, number) => number % FEW_GUESTS === n);
    for (const guest of own) guest.leave(ROOM);
    for (let visits = 0; visits < VISITS / FEW_GUESTS; visits++) {
      const guest = own[visits % own.length];
      guest?.enter(ROOM);
      await history.until(() => own.every(({ isReady }) => isReady), 'a guest');
      guest?.leave(ROOM);
    }
  };
  const triggering = [0, 1, 2].map(async (n) => {
    const backend = history.backend(portOf(n));
    for (let number = 0; !isEnough; number++) {
      await backend.trigger({ e: `${n}-${number}`, channels: [ROOM] });
    }
  });
  await Promise.all(Array.from({ length: FEW_GUESTS }, (_, n) => visit(n)));
  isEnough = true;
  await Promise.all(triggering);
  await history.settle(history.backend(portOf(0)), ROOM);
  return history.problems('order', 'after', 'once', 'known', 'arrives', 'members', 'present');
}

describe.each<[of: string, open: () => Promise<AsyncDisposable & { readonly ports: number[] }>]>([
  ['three servers', () => startServers(3)],
  ['two servers of three threads each', () => startServers(2, 3)],
  ['three threads', () => openOne(3)],
  ['one loop', () => openOne(1)],
])('subscribers of %s', (_, open) => {
  it('see one order of events and of guests who come and go', async () => {
    await using site = await open();
    expect(await watchGuests(site.ports, MANY_GUESTS)).toEqual([]);
    expect(await watchGuests(site.ports, FEW_GUESTS)).toEqual([]);
  });
});

async function startServers(count: number, threads = 1) {
  const cluster = await startCluster(count, { threads });
  return Object.assign(cluster, { ports: cluster.servers.map(({ port }) => port) });
}

async function openOne(threads: number) {
  const server = await startFanfare({ threads });
  return Object.assign(server, { ports: [server.port] });
}
