import { Database } from 'bun:sqlite';
import { expect, it } from 'bun:test';
import { join } from 'node:path';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { trigger } from '../../testing/clients/sign.ts';
import { eventually } from '../../testing/eventually.ts';
import { APP, type Fanfare, PROGRAM, startFanfare } from '../../testing/servers/fanfare.ts';
import { restart } from '../../testing/servers/restart.ts';

const ROUNDS = 2;

/**
 * How long events and usage may wait until they are in the store: `FLUSH_MS` and `USAGE_INTERVAL_MS`, and many times as long
 * again for a busy machine. Milliseconds.
 */
const STORED_MS_MAX = 5_000;

/** Channels of one life whose events must survive. */
const ENOUGH = 20;

/** The shortest and the longest life under load. Milliseconds. */
const LIFE_MS = [6_000, 7_200] as const;

/** The pause of the client. Without it, the client would take the processor from the server. */
const LOAD_PAUSE_MS = 3;

interface Answered {
  readonly what: string;
  readonly atMs: number;
}

/** A webhook endpoint that accepts nothing until `open` is called. */
function endpoint() {
  const received = new Set<string>();
  let isOpen = false;
  const http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      if (!isOpen) return new Response('later', { status: 503 });
      const { events } = (await request.json()) as { events: { channel: string }[] };
      for (const { channel } of events) received.add(channel);
      return new Response();
    },
  });
  return {
    url: `http://127.0.0.1:${http.port}/`,
    open() {
      isOpen = true;
    },
    /** The channels of which no event has arrived. */
    missing: (channels: readonly string[]) => channels.filter((channel) => !received.has(channel)),
    [Symbol.asyncDispose]: () => http.stop(true),
  };
}

/** Makes an app in the store, as an operator would. */
async function createApp(server: Fanfare): Promise<{ id: string; keys: { key: string }[] }> {
  const config = join(server.directory, 'config.json');
  const child = Bun.spawn(
    [process.execPath, PROGRAM, 'apps', 'create', '--json', '--config', config],
    { cwd: server.directory, stdout: 'pipe', stderr: 'inherit' },
  );
  const text = await child.stdout.text();
  expect(await child.exited).toBe(0);
  return JSON.parse(text);
}

/**
 * Subscribes to one channel after the other and triggers an event in each, until the server is killed. Returns the
 * subscriptions and the triggers that were answered, by their channel.
 */
async function load(server: Fanfare, round: number) {
  const occupied: Answered[] = [];
  const triggered: Answered[] = [];
  const client = await RawClient.connect(server);
  const run = async () => {
    for (let n = 0; ; n++) {
      const channel = `round-${round}-${n}`;
      await client.subscribe(channel);
      occupied.push({ what: channel, atMs: Date.now() });
      await trigger(server, { name: 'e', channel, data: 'x' });
      await client.receive();
      triggered.push({ what: channel, atMs: Date.now() });
      await Bun.sleep(LOAD_PAUSE_MS);
    }
  };
  let over = false;
  // The kill interrupts any step of it: that is the point of this test.
  const ended = run().catch((error: unknown) => {
    if (!over) throw error;
  });
  return {
    occupied,
    triggered,
    kill() {
      over = true;
      const atMs = Date.now();
      server.process.kill('SIGKILL');
      return atMs;
    },
    ended,
  };
}

function usageIn(directory: string): number {
  using database = new Database(join(directory, 'fanfare.db'), { readonly: true });
  const row = database
    .query<{ messages: number }, [string]>(
      'SELECT SUM(messages) AS messages FROM usage_days WHERE app_id = ?',
    )
    .get(APP.id);
  return row?.messages ?? 0;
}

it('loses to kill -9 no app, and no webhook and no usage that had time to be stored', async () => {
  await using hook = endpoint();
  let server = await startFanfare({
    app: {
      webhooks: [{ url: hook.url, events: ['channel_occupied'], batching: true }],
      limits: { channelsPerConnection: 0, subscriptionsPerSecond: 0 },
    },
    config: { webhooks: { allowPrivateAddresses: true } },
    channels: { framesPerSecond: 0 },
  });
  await using stop = new AsyncDisposableStack();
  stop.use(server);
  const apps: Awaited<ReturnType<typeof createApp>>[] = [];
  const safeChannels: string[] = [];
  let safeUsage = 0;

  for (let round = 0; round < ROUNDS; round++) {
    const busy = await load(server, round);
    apps.push(await createApp(server));
    const [shortest, longest] = LIFE_MS;
    const lifeMs = shortest + Math.random() * (longest - shortest);
    await Bun.sleep(lifeMs);
    // A busy machine may take longer until enough is safe.
    await eventually(
      () => Date.now() - STORED_MS_MAX,
      (safeUntilMs) => busy.triggered.filter(({ atMs }) => atMs < safeUntilMs).length > ENOUGH,
    );
    const killedAtMs = busy.kill();
    await busy.ended;
    const isSafe = ({ atMs }: Answered) => atMs < killedAtMs - STORED_MS_MAX;
    safeChannels.push(...busy.occupied.filter(isSafe).map(({ what }) => what));
    // One request and one delivery each, and the webhook event that came with the channel.
    safeUsage += 3 * busy.triggered.filter(isSafe).length;

    server = stop.use(await restart(server, 'SIGKILL'));

    expect({ lifeMs, enough: usageIn(server.directory) >= safeUsage }).toEqual({
      lifeMs,
      enough: true,
    });
    for (const { keys } of apps) {
      await using client = await RawClient.connect(server, { path: pathOf(7, keys[0]?.key) });
      expect(client.socketId).toBeString();
    }
  }

  expect(safeChannels.length).toBeGreaterThan(ENOUGH);
  expect(safeUsage).toBeGreaterThan(3 * ENOUGH);
  hook.open();
  await eventually(
    () => hook.missing(safeChannels),
    (missing) => missing.length === 0,
  );
}, 180_000);
