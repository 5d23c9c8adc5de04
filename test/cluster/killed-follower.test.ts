import { expect, it } from 'bun:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { admin } from '../../testing/clients/admin-api.ts';
import { newSourceDatabase } from '../../testing/databases/source.ts';
import { eventually } from '../../testing/eventually.ts';
import { runs } from '../../testing/long-run.ts';
import { APP, type Fanfare } from '../../testing/servers/fanfare.ts';
import { startAgain } from '../../testing/servers/restart.ts';
import { startCluster } from './cluster.ts';

/** Two servers over Redis, of which one follows the outbox of an application. */

const CHANNELS = ['orders-0', 'orders-1', 'orders-2', 'orders-3'];
const KILLS = runs(3, 20);
/** Between two transactions of a channel: a history keeps 10,000 events. */
const PAUSE_MS = runs(10, 100);

interface Source {
  readonly follower: string | null;
  readonly waiting: number;
}

/** The data of all kept events of a channel, the oldest first. */
async function historyOf(server: Fanfare, channel: string): Promise<readonly string[]> {
  const found: string[] = [];
  let before = '';
  for (;;) {
    const path = `/apps/${APP.id}/channels/${channel}/history?limit=1000${before}`;
    const { json } = await admin(server, 'GET', path);
    const { events, more } = json as { events: { id: string; data: string }[]; more: boolean };
    found.push(...events.map(({ data }) => data));
    if (!more) return found.toReversed();
    before = `&before=${events.at(-1)?.id}`;
  }
}

async function nameOf(server: Fanfare): Promise<string> {
  return ((await admin(server, 'GET', '/server')).json as { name: string }).name;
}

/** The server that follows, as one of them knows. */
async function follower(asked: Fanfare): Promise<string> {
  const source = await eventually(
    async () => ((await admin(asked, 'GET', '/sources')).json as { sources: Source[] }).sources[0],
    (one) => (one?.follower ?? null) !== null,
  );
  return source?.follower ?? '';
}

it('sends each committed event once, in order, while the server that follows is killed', async () => {
  await using database = await newSourceDatabase();
  await using cluster = await startCluster(0, {
    app: {
      history: [{ channels: 'orders-*', seconds: 3_600, events: 10_000, bytes: 16_777_216 }],
      limits: { historyBytes: 0 },
    },
    // Each partition has a share of it.
    channels: { historyBytes: 1_073_741_824 },
  });
  const config = { sources: [{ url: database.url, app: APP.id }] };
  await cluster.add({ config });
  await cluster.add({ config });
  await using again = new AsyncDisposableStack();
  let servers = [...cluster.servers];

  let isWriting = true;
  const write = async (channel: string) => {
    let n = 0;
    for (; isWriting; n++) {
      await database.sql`SELECT fanfare.trigger(${channel}, 'paid', ${`${n}`}::text::json)`;
      await sleep(PAUSE_MS);
    }
    return n;
  };
  const written = Promise.all(CHANNELS.map(write));
  // What fails first is reported, and not that the database is gone afterwards.
  written.catch(() => undefined);
  const killed: string[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const names = await Promise.all(servers.map(nameOf));
    const name = await follower(servers[0] as Fanfare);
    const place = names.indexOf(name);
    const victim = servers[place] as Fanfare;
    await victim.stop('SIGKILL');
    killed.push(name);
    const others = servers.filter((one) => one !== victim);
    // The other one goes on at once.
    await eventually(
      () => follower(others[0] as Fanfare),
      (now) => now !== name,
    );
    servers = [...others, again.use(await startAgain(victim))];
  }
  isWriting = false;
  const counts = await written;
  await eventually(
    async () => (await database.sql`SELECT count(*)::int AS rows FROM fanfare.outbox`)[0].rows,
    (rows) => rows === 0,
  );
  expect(new Set(killed).size).toBeGreaterThan(1);
  for (const [place, channel] of CHANNELS.entries()) {
    const expected = Array.from({ length: counts[place] ?? 0 }, (_, n) => `${n}`);
    expect(await historyOf(servers[0] as Fanfare, channel)).toEqual(expected);
  }
  console.log(`${counts.reduce((sum, one) => sum + one, 0)} events, ${KILLS} kills`);
}, 1_800_000);
