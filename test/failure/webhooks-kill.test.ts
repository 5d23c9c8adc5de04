import { afterEach, expect, it } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SAFE_IN_A_LIFE = 40;

interface Accepted {
  readonly number: number;
  readonly atMs: number;
}

/** What had been accepted for more than 250 ms at a time. */
const safeOf = (accepted: readonly Accepted[], timeMs: number) =>
  accepted.filter(({ atMs }) => atMs < timeMs - 250);

let stops = new AsyncDisposableStack();
afterEach(async () => {
  await stops.disposeAsync();
  stops = new AsyncDisposableStack();
});

/** Starts the process, and collects what it prints. */
function run(store: string, url: string, first?: number) {
  const child = Bun.spawn(
    [
      process.execPath,
      join(import.meta.dir, 'webhooks-process.fixture.ts'),
      store,
      url,
      ...(first === undefined ? [] : [String(first)]),
    ],
    { stdout: 'pipe', stderr: 'inherit' },
  );
  stops.defer(async () => {
    child.kill('SIGKILL');
    await child.exited;
  });
  const accepted: Accepted[] = [];
  const reading = (async () => {
    let rest = '';
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const [number, atMs] = line.split(' ').map(Number);
        if (number !== undefined && atMs !== undefined) accepted.push({ number, atMs });
      }
    }
  })();
  return {
    accepted,
    async kill(): Promise<number> {
      const atMs = Date.now();
      child.kill('SIGKILL');
      await child.exited;
      await reading;
      return atMs;
    },
  };
}

it('delivers after kill -9 everything that was accepted more than 250 ms before', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fanfare-kill-'));
  stops.defer(() => rm(folder, { recursive: true }));
  const received = { '/single': new Set<number>(), '/batched': new Set<number>() };
  let up = false;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      if (!up) return new Response('later', { status: 503 });
      const { events } = (await request.json()) as { events: { channel: string }[] };
      const path = new URL(request.url).pathname === '/single' ? '/single' : '/batched';
      for (const { channel } of events) received[path].add(Number(channel));
      return new Response();
    },
  });
  stops.defer(() => server.stop(true));
  const store = join(folder, 'store.db');
  const url = `http://127.0.0.1:${server.port}`;

  const safe: number[] = [];
  let first = 0;
  // Killed at any moment: while it starts to send, between commits, within one.
  for (const lifeMs of [700, 430, 910]) {
    const child = run(store, url, first);
    await until(() => child.accepted.length > 0);
    await Bun.sleep(lifeMs);
    // A slow machine takes longer until enough were accepted.
    await until(() => safeOf(child.accepted, Date.now()).length >= SAFE_IN_A_LIFE);
    const killedAtMs = await child.kill();
    safe.push(...safeOf(child.accepted, killedAtMs).map(({ number }) => number));
    first += 100_000;
  }
  expect(safe.length).toBeGreaterThanOrEqual(3 * SAFE_IN_A_LIFE);

  up = true;
  run(store, url);
  await until(() => safe.every((number) => received['/single'].has(number)));
  await until(() => safe.every((number) => received['/batched'].has(number)));
}, 180_000);

async function until(holds: () => boolean): Promise<void> {
  for (let round = 0; !holds(); round++) {
    if (round > 2_000) throw new Error('it never happened');
    await Bun.sleep(10);
  }
}
