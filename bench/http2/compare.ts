/**
 * Compares clients of HTTP/2 at what gateways need: notifications of 300 bytes, 200 at a time, one core for the client
 * and one for the server.
 *
 *     sh scripts/bun.sh bench/http2/compare.ts [REQUESTS]
 */
import { join } from 'node:path';
import { describeConditions } from '../conditions.ts';
import { findPinning } from '../cores.ts';
import type { ClientKind, ClientResult, ClientTask } from './client.ts';

const REQUESTS = Number(process.argv[2] ?? 40_000);
const AT_ONCE = 200;
const ROUNDS = 3;

type SinkKind = 'bun' | 'fake';

const comparisons: readonly (readonly [sink: SinkKind, clients: readonly ClientKind[]])[] = [
  ['bun', ['fetch', 'node:http2', 'Http2Client']],
  ['fake', ['fetch', 'Http2Client', 'gateway']],
];

const pinning = findPinning();

function spawn(pin: readonly string[], file: string, argument: string) {
  const command = [process.execPath, join(import.meta.dir, file), argument];
  return Bun.spawn([...pin, ...command], { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function startSink(kind: SinkKind) {
  const child = spawn(pinning.server, 'sink.ts', kind);
  const { value } = await child.stdout.getReader().read();
  const told: { origin: string; ca: string } = JSON.parse(new TextDecoder().decode(value));
  return { ...told, [Symbol.dispose]: () => child.kill() };
}

async function runClient(task: ClientTask): Promise<ClientResult> {
  const child = spawn(pinning.load, 'client.ts', JSON.stringify(task));
  return JSON.parse(await new Response(child.stdout).text());
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

console.log(JSON.stringify(describeConditions(pinning.description)));
for (const [sinkKind, kinds] of comparisons) {
  using sink = await startSink(sinkKind);
  const results = new Map<ClientKind, ClientResult[]>(kinds.map((kind) => [kind, []]));
  // In turn, so that what others do on the machine meets all of them.
  for (let round = 0; round < ROUNDS; round++) {
    for (const [kind, those] of results) {
      const { origin, ca } = sink;
      those.push(await runClient({ kind, origin, ca, requests: REQUESTS, atOnce: AT_ONCE }));
    }
  }
  for (const [kind, those] of results) {
    const perSecond = median(those.map((result) => result.perSecond));
    const cpu = median(those.map((result) => result.cpuMicroseconds));
    console.log(
      `${sinkKind.padEnd(5)} ${kind.padEnd(12)} ${Math.round(perSecond)} requests/s, ${cpu.toFixed(1)} µs of processor each`,
    );
  }
}
