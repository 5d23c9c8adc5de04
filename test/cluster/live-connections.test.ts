import { expect, it } from 'bun:test';
import { WS_PING } from '../../testing/clients/raw-client.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { pushSettings } from '../protocol/push/exchange.ts';
import {
  type LiveClient,
  planned,
  publishesLive,
  userConnects,
} from '../protocol/push/publishes/live-users.ts';
import { startCluster } from './cluster.ts';

/** More than the server asks. */
const CONNECTIONS = 25;
const ASKED_MAX = 20;

const config = { push: pushSettings({ instance: { app: APP.id } }) };

async function startTwoThreads() {
  const server = await startFanfare({ threads: 2, config });
  return { servers: [server], [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

async function startTwoServers(threads = 1) {
  const cluster = await startCluster(0, { threads });
  for (let n = 0; n < 2; n++) await cluster.add({ config });
  return cluster;
}

/** How many pings a client has received. */
async function pingsOf(client: LiveClient): Promise<number> {
  client.send({ event: 'pusher:ping', data: {} });
  let pings = 0;
  for (;;) {
    const { event } = await client.receive();
    if (event === 'pusher:pong') return pings;
    if (event === WS_PING) pings++;
  }
}

it.each<[string, () => Promise<AsyncDisposable & { readonly servers: readonly Fanfare[] }>]>([
  ['threads', startTwoThreads],
  ['servers', startTwoServers],
  ['servers of three threads each', () => startTwoServers(3)],
])('two %s ask 20 connections of one user together', async (_, start) => {
  await using running = await start();
  const { servers } = running;
  const [server] = servers;
  if (server === undefined) throw new Error('No server runs');
  await using clients = new AsyncDisposableStack();
  const all: LiveClient[] = [];
  for (let n = 0; n < CONNECTIONS; n++) {
    const client = await userConnects(servers[n % servers.length] ?? server, 'ann');
    all.push(clients.use(client));
  }
  const id = await publishesLive(server, ['ann'], { live: { waitSeconds: 5 } });
  expect(await planned(server, id)).toMatchObject({ live: { silent: 1, connections: ASKED_MAX } });
  const pings = await Promise.all(all.map(pingsOf));
  expect(pings.filter((count) => count === 1)).toHaveLength(ASKED_MAX);
  expect(pings.filter((count) => count > 1)).toEqual([]);
});
