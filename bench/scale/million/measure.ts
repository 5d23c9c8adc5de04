import { signedTarget } from '../../load/trigger-request.ts';
import { availableBytes } from '../../machine/kernel-memory.ts';
import { processorSeconds } from '../../machine/processor-time.ts';
import { SETTLE_SECONDS, settledBytes } from '../../machine/settled-bytes.ts';
import { whole } from '../../report.ts';
import { type FanfareServer, startFanfare } from '../../servers.ts';
import { type CrowdProcess, startCrowd } from '../crowd/crowd-calls.ts';
import type { Broadcast } from '../crowd/idle-crowd.ts';
import { KEPT_FREE_BYTES, type Size } from '../size.ts';
import type { MeasuredMillion, Tenth } from './figures.ts';

const CHANNELS = 1000;
/** Connected before anything is measured, so that one-time costs of the server, such as compiled code, are not counted. */
const BEFORE_MAX = 2000;
const TENTHS = 10;
const BROADCASTS = 5;
/** Nobody is pinged before: pings of so many are a load of their own, for which user-mode Linux is too slow. */
const SILENT_SECONDS = 7200;
/** Connections beside the crowd. */
const PROBES_MAX = 50;

/** Commands that pin processes to their cores, or empty. */
export interface Pins {
  readonly server: readonly string[];
  readonly load: readonly string[];
}

/** Fills a server with silent subscribers, and measures it at each tenth of them. */
export async function measureMillion(
  pins: Pins,
  size: Size,
  dollarsPerCoreHour: number | undefined,
): Promise<MeasuredMillion> {
  const { connections, openFiles, why } = size;
  // By default, its share of the memory would be a bound, too.
  const bound = connections + PROBES_MAX;
  await using server = await startFanfare(pins.server, {
    channels: {
      maxConnections: bound,
      maxSubscriptions: bound,
      activityTimeoutSeconds: SILENT_SECONDS,
    },
  });
  await using crowd = startCrowd(pins.load);
  await crowd.call('open', {
    app: server.app,
    seating: { kind: 'public', channels: CHANNELS },
    size: connections,
    openFilesMax: openFiles,
  });
  const tenths = await fill(server, crowd, connections);

  const usedBefore = processorSeconds(server.pid);
  const broadcasts: Broadcast[] = [];
  for (let number = 1; number <= BROADCASTS; number += 1) {
    broadcasts.push(await crowd.call('broadcast', null));
  }
  const deliveries = broadcasts.reduce((sum, { delivered }) => sum + delivered, 0);
  const secondsPerDelivery = (processorSeconds(server.pid) - usedBefore) / deliveries;

  const resting = crowd.call('rest', { seconds: 1, isProbed: true });
  const listed = await listChannels(server);
  const { loopP99Ms } = await resting;
  return {
    why,
    endedEarly: tenths.length < TENTHS,
    tenths,
    broadcasts,
    secondsPerDelivery,
    listing: { ...listed, loopP99Ms },
    ...(dollarsPerCoreHour === undefined ? {} : { dollarsPerCoreHour }),
  };
}

/** Connects everybody. Returns fewer than ten tenths if the machine runs out of memory. */
async function fill(
  server: FanfareServer,
  crowd: CrowdProcess,
  connections: number,
): Promise<readonly Tenth[]> {
  const before = Math.min(BEFORE_MAX, Math.floor(connections / TENTHS));
  await crowd.call('gather', before);
  const first = await settled(server, crowd);

  const tenths: Tenth[] = [];
  let open = before;
  for (let tenth = 1; tenth <= TENTHS; tenth += 1) {
    const more = before + Math.round(((connections - before) * tenth) / TENTHS) - open;
    const took = await crowd.call('gather', more);
    open += more;
    const now = await settled(server, crowd);
    const each = (grown: number) => grown / (open - before);
    tenths.push({
      connections: open,
      perSecond: more / took.seconds,
      serverBytes: each(now.server - first.server),
      // This kernel holds both ends.
      kernelBytes: each(now.kernel - first.kernel) / 2,
      clientBytes: each(now.clients - first.clients),
      loopP99Ms: took.loopP99Ms,
    });
    console.error(`${whole(open)} connected, ${whole(more / took.seconds)}/s`);
    if (availableBytes() < KEPT_FREE_BYTES) break;
  }
  return tenths;
}

/** What everybody holds while clients do nothing but answer pings. */
async function settled(server: FanfareServer, crowd: CrowdProcess) {
  const resting = crowd.call('rest', { seconds: SETTLE_SECONDS, isProbed: false });
  const { processes, kernel } = await settledBytes([server.pid, crowd.pid]);
  await resting;
  const [ofServer = 0, ofClients = 0] = processes;
  return { server: ofServer, kernel, clients: ofClients };
}

async function listChannels({ app }: FanfareServer) {
  const target = signedTarget(app, 'GET', '/channels');
  const startMs = performance.now();
  const answer = await fetch(`http://${app.host}:${app.port}${target}`);
  const { channels } = (await answer.json()) as { readonly channels: object };
  const seconds = (performance.now() - startMs) / 1000;
  return { seconds, channels: Object.keys(channels).length };
}
