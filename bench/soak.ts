import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Random } from '../testing/random.ts';
import type { AppAddress } from './bench-app.ts';
import { signedTarget } from './load/trigger-request.ts';
import { startFanfare } from './servers.ts';
import { Crowd } from './soak/crowd.ts';

/**
 * Lets clients come, go, subscribe and chat for a while, and then counts: everybody heard everything that was
 * for them and nothing else, the server is empty when all have gone, and its memory has not grown.
 */

const help = `npm run soak -- [--minutes 10] [--connections 2000] [--seed N]`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    connections: { type: 'string', default: '2000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(help);
  process.exit();
}

const REPORT_MS = 30_000;
const SAMPLE_MS = 1000;

/** How much more memory the server may have at the end than after the first fifth of the time. */
const GROWTH_MAX = 0.05;

/** How long the server may take to notice that everybody has gone. */
const EMPTY_WITHIN_MS = 10_000;

const lifeMs = Number(values.minutes) * 60_000;
const connections = Number(values.connections);
const random = new Random(Number(values.seed));
console.log(`${connections} connections, ${values.minutes} minutes, --seed ${values.seed}`);

await using server = await startFanfare([], {
  clientEvents: true,
  limits: { presenceMembers: connections },
});
const crowd = new Crowd(server.app, random, Math.ceil(connections / 5));
const memory: { readonly atMs: number; readonly megabytes: number }[] = [];

await crowd.gather(connections);
const beganMs = performance.now();
const elapsedMs = () => performance.now() - beganMs;
const sampling = setInterval(() => {
  memory.push({ atMs: elapsedMs(), megabytes: residentMegabytes(server.pid) });
}, SAMPLE_MS);
const reporting = setInterval(report, REPORT_MS);
await crowd.live(() => elapsedMs() >= lifeMs || crowd.expectations.faults.length > 0);
clearInterval(sampling);
clearInterval(reporting);
report();

const problems = [...crowd.expectations.faults];
await crowd.disperse();
const { subscribed, unsubscribed, connected, disconnected } = crowd.deeds;
check(subscribed === unsubscribed, `${subscribed} subscribed and ${unsubscribed} unsubscribed`);
check(connected === disconnected, `${connected} connected and ${disconnected} disconnected`);
const left = await channelsLeft(server.app);
check(left === '{"channels":{}}', `channels are left when all have gone: ${left}`);
await checkMetrics();
checkMemory();

for (const problem of problems) console.log(`BROKEN: ${problem}`);
console.log(problems.length === 0 ? 'Everything adds up.' : `Repeat it with --seed ${values.seed}`);
process.exitCode = problems.length === 0 ? 0 : 1;

function check(holds: boolean, otherwise: string): void {
  if (!holds) problems.push(otherwise);
}

function report(): void {
  const { deeds, expectations } = crowd;
  console.log(
    [
      `${Math.round(elapsedMs() / 1000)} s`,
      `${residentMegabytes(server.pid).toFixed(1)} MB`,
      `${crowd.connections} connections`,
      ...Object.entries(deeds).map(([what, times]) => `${times} ${what}`),
      `${expectations.heardCount} heard`,
    ].join(', '),
  );
}

function residentMegabytes(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/** What the server says is occupied, once it says nothing or has had its time. */
async function channelsLeft({ host, port }: AppAddress): Promise<string> {
  const deadlineMs = performance.now() + EMPTY_WITHIN_MS;
  for (;;) {
    const target = signedTarget(server.app, 'GET', '/channels');
    const said = await (await fetch(`http://${host}:${port}${target}`)).text();
    if (said === '{"channels":{}}' || performance.now() > deadlineMs) return said;
    await Bun.sleep(100);
  }
}

async function checkMetrics(): Promise<void> {
  const text = await (await fetch(`http://127.0.0.1:${server.adminPort}/metrics`)).text();
  const expected = {
    fanfare_connections: 0,
    fanfare_channels: 0,
    fanfare_connections_opened_total: connected,
    fanfare_connections_refused_total: 0,
    fanfare_slow_connections_closed_total: 0,
  };
  for (const [name, value] of Object.entries(expected)) {
    const lines = text
      .split('\n')
      .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
    const sum = lines.reduce((total, line) => total + Number(line.split(' ').at(-1)), 0);
    check(value === sum && (lines.length > 0 || value === 0), `${name} is ${sum} and not ${value}`);
  }
}

/** The first tenth after the first fifth, compared with the last tenth. */
function checkMemory(): void {
  const during = (from: number, to: number) => {
    const within = memory.filter(({ atMs }) => atMs >= from * lifeMs && atMs < to * lifeMs);
    return within.reduce((sum, { megabytes }) => sum + megabytes, 0) / within.length;
  };
  const before = during(0.2, 0.3);
  const after = during(0.9, 1);
  const growth = after / before - 1;
  const text = `memory: ${before.toFixed(1)} MB, and ${after.toFixed(1)} MB in the end (${(growth * 100).toFixed(1)} %)`;
  console.log(text);
  check(growth <= GROWTH_MAX, text);
}
