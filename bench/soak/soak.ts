import type { AppAddress } from '../bench-app.ts';
import { residentBytes } from '../connections/server-memory.ts';
import { signedTarget } from '../load/trigger-request.ts';
import { parseOptions } from '../options.ts';
import { startFanfare } from '../servers.ts';
import { SoakCrowds } from './soak-crowds.ts';
import { KEPT } from './soak-run.ts';

/**
 * `npm run bench -- soak`: crowds of `fanfare verify` come, chat and go for a while, and its checker decides what was kept.
 */

const help = `Lets crowds of fanfare verify come, chat and go, each for half a minute. Every promise must be kept, the server must be
empty at the end, and its memory must not grow.

npm run bench -- soak [options]

  --minutes N        (10)
  --connections N    (2000)
  --help             print this
`;

const REPORT_MS = 30_000;
const SAMPLE_MS = 1000;

/** What is kept for crowds that have gone must be forgotten long before memory is compared. */
const HISTORY_SECONDS = 15;

const PROBLEMS_PRINTED = 20;

/** Growth of the memory from the first fifth of the time to the end. */
const GROWTH_MAX = 0.05;

/** How long the server may take to detect that all clients have disconnected. */
const EMPTY_WITHIN_MS = 10_000;

/** Runs the command. Resolves with its exit code. */
export async function soak(args: string[]): Promise<number> {
  const { values } = parseOptions({
    args,
    options: {
      minutes: { type: 'string', default: '10' },
      connections: { type: 'string', default: '2000' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  const lifeMs = Number(values.minutes) * 60_000;
  const connections = Number(values.connections);
  console.log(`${connections} connections, ${values.minutes} minutes`);

  await using server = await startFanfare([], {
    app: {
      clientEvents: true,
      subscriptionCounts: true,
      history: [{ channels: `${KEPT}*`, seconds: HISTORY_SECONDS }],
    },
  });
  const crowds = new SoakCrowds(server.app, connections);
  const memory: MemorySample[] = [];

  await crowds.begin();
  const beganMs = performance.now();
  const elapsedMs = () => performance.now() - beganMs;
  const report = () => console.log(reportOf(crowds, elapsedMs(), server.pid));
  const reporting = setInterval(report, REPORT_MS);
  while (elapsedMs() < lifeMs && crowds.problems.length === 0) {
    memory.push({ atMs: elapsedMs(), megabytes: residentMegabytes(server.pid) });
    await Bun.sleep(SAMPLE_MS);
  }
  clearInterval(reporting);
  await crowds.end();
  report();

  const problems = [...crowds.problems];
  const check = (holds: boolean, otherwise: string) => {
    if (!holds) problems.push(otherwise);
  };
  const left = await channelsLeft(server.app);
  check(left === '{"channels":{}}', `channels are occupied after all clients have left: ${left}`);
  const metrics = await (await fetch(`http://127.0.0.1:${server.adminPort}/metrics`)).text();
  const expected = {
    fanfare_connections: 0,
    fanfare_channels: 0,
    fanfare_connections_opened_total: crowds.done.connections,
    fanfare_connections_refused_total: 0,
    fanfare_slow_connections_closed_total: 0,
  };
  for (const [name, value] of Object.entries(expected)) {
    const found = sumOf(metrics, name);
    check(found === value, `${name} is ${found} and not ${value}`);
  }
  const growth = memoryGrowth(memory, lifeMs);
  console.log(growth.text);
  check(growth.share <= GROWTH_MAX, growth.text);

  for (const problem of problems.slice(0, PROBLEMS_PRINTED)) console.log(`BROKEN: ${problem}`);
  if (problems.length === 0) console.log('Everything was kept.');
  return problems.length === 0 ? 0 : 1;
}

interface MemorySample {
  readonly atMs: number;
  readonly megabytes: number;
}

function reportOf({ done }: SoakCrowds, elapsedMs: number, pid: number): string {
  return [
    `${Math.round(elapsedMs / 1000)} s`,
    `${residentMegabytes(pid).toFixed(1)} MB`,
    ...Object.entries(done).map(([what, times]) => `${times} ${what}`),
  ].join(', ');
}

function residentMegabytes(pid: number): number {
  return residentBytes(pid) / 2 ** 20;
}

/** The occupied channels as listed by the server, once there are none or on timeout. */
async function channelsLeft(app: AppAddress): Promise<string> {
  const deadlineMs = performance.now() + EMPTY_WITHIN_MS;
  for (;;) {
    const target = signedTarget(app, 'GET', '/channels');
    const said = await (await fetch(`http://${app.host}:${app.port}${target}`)).text();
    if (said === '{"channels":{}}' || performance.now() > deadlineMs) return said;
    await Bun.sleep(100);
  }
}

/** The sum of all series of a metric. `undefined`: there is no such metric. */
function sumOf(metrics: string, name: string): number | undefined {
  const lines = metrics
    .split('\n')
    .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  if (lines.length === 0) return undefined;
  return lines.reduce((total, line) => total + Number(line.split(' ').at(-1)), 0);
}

/** Compares the first tenth after the first fifth with the last tenth. */
function memoryGrowth(memory: readonly MemorySample[], lifeMs: number) {
  const during = (from: number, to: number) => {
    const samples = memory.filter(({ atMs }) => atMs >= from * lifeMs && atMs < to * lifeMs);
    return samples.reduce((sum, { megabytes }) => sum + megabytes, 0) / samples.length;
  };
  const [before, after] = [during(0.2, 0.3), during(0.9, 1)];
  const share = after / before - 1;
  const text = `memory: ${before.toFixed(1)} MB, at the end ${after.toFixed(1)} MB (${(share * 100).toFixed(1)} %)`;
  return { share, text };
}
