import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { benchApp } from './bench-app.ts';
import { describeConditions } from './conditions.ts';

/**
 * `npm run drain`: how gently a server sends its clients away. Clients that behave like pusher-js are on one
 * server; it gets SIGTERM, and they go to another that takes over, at once as 4200 tells them to.
 */

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '5000' },
    seconds: { type: 'string', default: '10' },
    help: { type: 'boolean' },
  },
});
if (values.help === true) {
  console.log(
    'npm run drain -- [--clients 5000] [--seconds 10]   seconds: drainSeconds of the server',
  );
  process.exit(0);
}
const clientCount = Number(values.clients);
const drainSeconds = Number(values.seconds);

/** One step in which closes are counted. Milliseconds. */
const STEP_MS = 100;

interface Node {
  readonly port: number;
  readonly process: Bun.Subprocess;
}

const folder = mkdtempSync(join(tmpdir(), 'fanfare-drain-'));

async function startNode(name: string): Promise<Node> {
  const config = join(folder, `${name}.json`);
  const { id, key, secret } = benchApp;
  writeFileSync(
    config,
    JSON.stringify({
      channels: { host: '127.0.0.1', port: 0, apps: [{ id, keys: [{ key, secret }] }] },
      admin: { port: 0 },
      store: { url: `sqlite:${join(folder, `${name}.db`)}` },
      log: { level: 'warn' },
      drainSeconds,
    }),
  );
  const main = join(import.meta.dir, '../src/main.ts');
  const child = Bun.spawn([process.execPath, main, 'serve', '--config', config], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  let printed = '';
  const decoder = new TextDecoder();
  for await (const bytes of child.stdout) {
    printed += decoder.decode(bytes, { stream: true });
    const port = /^Channels +http:\/\/.*:(\d+) /m.exec(printed)?.[1];
    if (port !== undefined) return { port: Number(port), process: child };
  }
  throw new Error('The server did not start');
}

const closedAtMs: number[] = [];
const awayMs: number[] = [];
const codes = new Map<number, number>();

/** Connects, subscribes, and goes on to `next` when it is sent away; settles once it is subscribed. */
function client(port: number, next: number | undefined, leftAtMs?: number): Promise<WebSocket> {
  const { promise, resolve } = Promise.withResolvers<WebSocket>();
  const socket = new WebSocket(
    `ws://127.0.0.1:${port}/app/${benchApp.key}?protocol=7&client=js&version=8.6.0`,
  );
  socket.addEventListener('message', ({ data }) => {
    if (data.includes('connection_established')) {
      socket.send('{"event":"pusher:subscribe","data":{"channel":"news","auth":""}}');
    } else if (data.includes('subscription_succeeded')) {
      if (leftAtMs !== undefined) awayMs.push(performance.now() - leftAtMs);
      resolve(socket);
    }
  });
  socket.addEventListener('close', ({ code }) => {
    if (next === undefined) return;
    codes.set(code, (codes.get(code) ?? 0) + 1);
    const now = performance.now();
    closedAtMs.push(now);
    arrived.push(client(next, undefined, now));
  });
  return promise;
}

const arrived: Promise<WebSocket>[] = [];
const [leaving, takingOver] = [await startNode('leaving'), await startNode('taking-over')];
console.log(
  `${clientCount} clients, drainSeconds ${drainSeconds}; Bun ${Bun.version}, ${describeConditions('').cpu}`,
);
for (let n = 0; n < clientCount; n += 200) {
  const batch = Math.min(200, clientCount - n);
  await Promise.all(Array.from({ length: batch }, () => client(leaving.port, takingOver.port)));
}

const askedAtMs = performance.now();
leaving.process.kill('SIGTERM');
const exitCode = await leaving.process.exited;
const tookMs = performance.now() - askedAtMs;
await Promise.all(arrived);

const steps = new Map<number, number>();
for (const at of closedAtMs) {
  const step = Math.floor((at - askedAtMs) / STEP_MS);
  steps.set(step, (steps.get(step) ?? 0) + 1);
}
awayMs.sort((a, b) => a - b);
const at = (share: number) => (awayMs[Math.floor(share * (awayMs.length - 1))] ?? 0).toFixed(1);
console.log(
  `ended with ${exitCode} after ${(tookMs / 1000).toFixed(2)} s; close codes ${JSON.stringify([...codes])}`,
);
console.log(
  `closed per ${STEP_MS} ms: at most ${Math.max(...steps.values())}, in ${steps.size} steps`,
);
console.log(
  `away, from the close to the confirmation of the other server: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, at most ${at(1)} ms`,
);
console.log(`subscribed again: ${arrived.length} of ${clientCount}`);

takingOver.process.kill('SIGKILL');
rmSync(folder, { recursive: true, force: true });
process.exit(exitCode === 0 && arrived.length === clientCount ? 0 : 1);
