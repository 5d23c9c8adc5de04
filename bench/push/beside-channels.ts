import { watchCpu } from '../cpu-usage.ts';
import type { StepResult } from '../load/open-loop.ts';
import { type LoadProcess, startLoad } from '../load-process.ts';
import type { DeliverPinning } from './deliver-pinning.ts';
import type { DeliverSite } from './deliver-site.ts';
import { type DeliveringServer, startDelivering, warmUp } from './delivering-server.ts';
import { checkDelivered, publishToAll } from './delivery-run.ts';
import { leastDisturbed, quiet } from './quiet.ts';
import { moveBackground } from './threads.ts';

/** How the two loops of a server share the cores. */
export type Placement = 'one core' | 'a core each';

/** What runs beside the channels: publishes to all devices of so many instances. */
export const publishCounts = [0, 1, 4] as const;
export type PublishCount = (typeof publishCounts)[number];

/** Channels' latency while publishes are delivered, or none. */
export interface BesideStep {
  readonly publishes: PublishCount;
  readonly step: StepResult;
  /** What the server used, and what others did, in cores. */
  readonly server: number;
  readonly others: number;
  /** Notifications per second meanwhile. */
  readonly notificationsPerSecond: number;
  /** Whether there was something to deliver until the end. */
  readonly isCovered: boolean;
}

export interface BesideRun {
  readonly placement: Placement;
  readonly steps: readonly BesideStep[];
}

/** 100,000 deliveries a second. */
const CROWD = { channels: 1, subscribersEach: 1000 };
const PUBLISHES_PER_SECOND = 100;
const DATA_BYTES = 200;

/** More than are ever waiting for an answer. */
const PUBLISHERS = 64;

const WARMUP_SECONDS = 0.5;
const WARM_UP_STEP_SECONDS = 2;

/** Nothing is cut short: what is asked is how long it takes. */
const LIMIT_MS = 60_000;

/** Measures the channels of one server: with nothing beside them, then with publishes. */
export async function measureBeside(
  pinning: DeliverPinning,
  site: DeliverSite,
  placement: Placement,
  seconds: number,
): Promise<BesideRun> {
  await using server = await startDelivering(pinning.server, site);
  if (placement === 'a core each') moveBackground(server.pid, pinning.otherCore);
  await using load = startLoad(pinning.preferredLoad);
  await load.call('connect', { app: server.app, crowd: CROWD, publishers: PUBLISHERS });
  await warmUp(server, site);
  await stepOf(load, WARM_UP_STEP_SECONDS);

  const steps: BesideStep[] = [];
  for (const publishes of publishCounts) {
    const measure = () => measureStep(server, load, site, publishes, seconds);
    steps.push(await leastDisturbed(measure, ({ others }) => others));
  }
  return { placement, steps };
}

async function measureStep(
  server: DeliveringServer,
  load: LoadProcess,
  site: DeliverSite,
  publishes: PublishCount,
  seconds: number,
): Promise<BesideStep> {
  const { gateway } = site;
  const instances = site.instances.slice(0, publishes);
  const devices = instances.reduce((sum, instance) => sum + instance.devices, 0);
  await quiet();
  await gateway.call('count', null);
  const ids = await publishToAll(server, { instances });

  const stopCpu = watchCpu({ server: server.pid, load: load.pid });
  const startedMs = performance.now();
  const step = await stepOf(load, seconds);
  const tookMs = performance.now() - startedMs;
  const cpu = stopCpu();
  const { notifications, cpuSeconds } = await gateway.call('arrive', {
    notifications: 0,
    silenceMs: 0,
    overSeconds: 1,
  });
  const isCovered = publishes === 0 || notifications < devices;
  if (publishes > 0) await checkDelivered(server, { gateway, instances }, ids);
  return {
    publishes,
    step,
    server: cpu.server,
    others: Math.max(0, cpu.others - (cpuSeconds * 1000) / tookMs),
    notificationsPerSecond: (notifications * 1000) / tookMs,
    isCovered,
  };
}

function stepOf(load: LoadProcess, seconds: number): Promise<StepResult> {
  return load.call('step', {
    publishesPerSecond: PUBLISHES_PER_SECOND,
    warmupSeconds: WARMUP_SECONDS,
    seconds,
    dataBytes: DATA_BYTES,
    limitMs: LIMIT_MS,
  });
}
