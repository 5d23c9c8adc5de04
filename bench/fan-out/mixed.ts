import { setTimeout as sleep } from 'node:timers/promises';
import { benchApp } from '../bench-app.ts';
import type { LoadSize, StepResult } from '../load/open-loop.ts';
import { startLoad } from '../load/start-load.ts';
import { type CpuUsage, watchCpu } from '../machine/cpu-usage.ts';
import { leastDisturbed } from '../machine/quiet.ts';
import { align, median, ms, percent, ratio, spread, verdict, whole } from '../report.ts';
import type { Bench } from '../scenario.ts';
import { startFanfare } from '../servers.ts';
import { fanOutNamed } from './fan-outs.ts';
import { comparisonOf } from './measure.ts';

/** The share of the rate that `hot` holds. */
const SHARE = 0.5;
/** How far the 99th percentile may move. */
const TIMES_MAX = 1.3;

/** Half of them come, and stay away for longer than the 3 seconds after which a channel counts as vacated. */
const COMINGS_AND_GOINGS_PER_SECOND = 200;
const WANDERING: LoadSize = {
  crowd: { channels: 1000, subscribersEach: 0, kind: 'presence' },
  publishers: 0,
  eventSource: 'member-changes',
};

const EVERY_WEBHOOK_EVENT = [
  'channel_occupied',
  'channel_vacated',
  'member_added',
  'member_removed',
  'client_event',
  'cache_miss',
  'subscription_count',
];

/** What a metrics collector and an operator's page ask for, and how often. */
const LOOKED_AT = ['/metrics', '/api/v1/live', '/api/v1/apps', `/api/v1/apps/${benchApp.id}/usage`];
const LOOK_EACH_MS = 1000;

/** One run with or without what goes on beside. */
interface MixedRun {
  readonly step: StepResult;
  readonly cpu: CpuUsage | undefined;
  /** Events that arrived where the app's webhooks go, and answers of the admin listener. */
  readonly webhookEvents: number;
  readonly looks: number;
}

/** Runs of the same index were made together. */
export interface Mixed {
  readonly publishesPerSecond: number;
  readonly alone: readonly MixedRun[];
  readonly mixed: readonly MixedRun[];
}

/** Measures the latency of the hot channel with and without webhooks and an operator who looks. */
export async function measureMixed(bench: Bench): Promise<Mixed> {
  const { server } = await comparisonOf(bench, fanOutNamed('hot'));
  const held = median(server.runs.map((run) => run.publishesPerSecond));
  const publishesPerSecond = Math.max(1, Math.round(held * SHARE));
  const runs: Record<'alone' | 'mixed', MixedRun[]> = { alone: [], mixed: [] };
  for (let run = 1; run <= bench.effort.runs; run += 1) {
    for (const kind of ['mixed', 'alone'] as const) {
      const found = await leastDisturbed(
        () => measureOnce(bench, publishesPerSecond, kind === 'mixed'),
        ({ cpu }) => cpu?.others ?? 0,
      );
      runs[kind].push(found);
      bench.tell(`mixed, run ${run}, ${kind}: p99 ${ms(found.step.p99Ms)} ms`);
    }
  }
  return { publishesPerSecond, ...runs };
}

async function measureOnce(
  bench: Bench,
  publishesPerSecond: number,
  isMixed: boolean,
): Promise<MixedRun> {
  const { load: size, dataBytes, publishesPerSecond: warmUpRate } = fanOutNamed('hot');
  let webhookEvents = 0;
  using sink = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const body: { readonly events: readonly unknown[] } = JSON.parse(await request.text());
      webhookEvents += body.events.length;
      return new Response();
    },
  });
  const webhook = { url: `${sink.url.origin}/`, events: EVERY_WEBHOOK_EVENT };

  await using server = await startFanfare(
    bench.pinning.server,
    isMixed ? { webhooks: [webhook] } : {},
    { webhooks: { allowPrivateAddresses: true } },
  );
  await using roaming = startLoad(bench.pinning.load);
  await using load = startLoad(bench.pinning.load);
  await roaming.call('connect', { ...WANDERING, app: server.app });
  await load.call('connect', { ...size, app: server.app });

  const step = { warmupSeconds: 0, dataBytes, limitMs: undefined };
  await load.call('step', { ...step, publishesPerSecond: warmUpRate, seconds: 1 });
  // Longer than the measured step, before which it begins.
  const seconds = bench.isQuick ? 4 : 8;
  const roamed = roaming.call('step', {
    ...step,
    publishesPerSecond: COMINGS_AND_GOINGS_PER_SECOND,
    seconds: seconds + 2,
  });
  await using looking = isMixed ? startLooking(server.adminPort) : undefined;

  const { pid } = server;
  const used = pid === undefined ? undefined : watchCpu({ server: pid, load: load.pid });
  const result = await load.call('step', {
    ...step,
    publishesPerSecond,
    warmupSeconds: 1,
    seconds: seconds - 1,
  });
  const cpu = used?.();
  const { refused, firstRefusal } = await roamed;
  if (refused > 0) throw new Error(`a member may not come: ${firstRefusal}`);
  return { step: result, cpu, webhookEvents, looks: looking?.looks ?? 0 };
}

/** Asks the admin listener for everything once a second until it is disposed of, which throws what went wrong. */
function startLooking(port: number): AsyncDisposable & { readonly looks: number } {
  const stopped = Promise.withResolvers<'stopped'>();
  let looks = 0;
  const look = async () => {
    do {
      for (const path of LOOKED_AT) {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`);
        if (!answer.ok) return new Error(`${path} was answered with ${answer.status}`);
        await answer.text();
        looks += 1;
      }
    } while ((await Promise.race([sleep(LOOK_EACH_MS), stopped.promise])) !== 'stopped');
    return undefined;
  };
  const looked = look();
  return {
    get looks() {
      return looks;
    },
    async [Symbol.asyncDispose]() {
      stopped.resolve('stopped');
      const fault = await looked;
      if (fault !== undefined) throw fault;
    },
  };
}

/** By how much the 99th percentile moved, in each pair of runs. */
export function movements({ alone, mixed }: Pick<Mixed, 'alone' | 'mixed'>): number[] {
  return mixed.map(({ step }, index) => step.p99Ms / (alone[index]?.step.p99Ms ?? Number.NaN));
}

/** Whether nothing was lost on the way, with and without. */
function isWhole({ alone, mixed }: Mixed): boolean {
  return [...alone, ...mixed].every(
    ({ step: { missing, duplicated, refused, lost } }) =>
      missing + duplicated + refused + lost === 0,
  );
}

/** The table of both, and by how much the 99th percentile moved. */
export function printMixed(figures: Mixed): string {
  const { publishesPerSecond, alone, mixed } = figures;
  const row = (name: string, runs: readonly MixedRun[]) => {
    const p99s = runs.map(({ step }) => step.p99Ms);
    return [
      name,
      ms(median(runs.map(({ step }) => step.p50Ms))),
      ms(median(p99s)),
      spread(p99s, ms),
      percent(median(runs.map(({ cpu }) => cpu?.server ?? Number.NaN))),
      whole(median(runs.map(({ webhookEvents }) => webhookEvents))),
      whole(median(runs.map(({ looks }) => looks))),
    ];
  };
  const moved = movements(figures);
  const target = `p99 at most ${TIMES_MAX} times as long, and nothing lost`;
  return [
    `mixed: hot at ${whole(publishesPerSecond)} publishes/s, half of what it holds; members come and go beside it`,
    ...align([
      ['', 'p50 ms', 'p99', 'spread', 'server CPU', 'webhook events', 'admin requests'],
      row('alone', alone),
      row('with webhooks and an operator', mixed),
      ['times', '', ratio(median(moved)), spread(moved, ratio)],
    ]),
    verdict(target, median(moved) <= TIMES_MAX && isWhole(figures)),
  ].join('\n');
}
