import { readFileSync } from 'node:fs';
import { processorSeconds } from '../../machine/processor-time.ts';
import { median } from '../../report.ts';
import { INTEREST, SINGLE_INTEREST } from '../deliver-instances.ts';
import type { DeliverSite } from '../deliver-site.ts';
import { type DeliveringServer, startDelivering, warmUp } from '../delivering-server.ts';

/** Publishes to all devices of a site, one after the other, by a fresh server. */
export interface BroadcastRun {
  readonly devices: number;
  readonly publishes: number;
  readonly seconds: number;
  /** The most memory that the server ever had, and what it had before. */
  readonly peakBytes: number;
  readonly bytesBefore: number;
  /** Processor time of the server for each notification. */
  readonly serverUsEach: number;
  /** How long publishes to a single device of the same instance took meanwhile, until they were finished. */
  readonly singleMs: readonly number[];
}

/** Publishes to a single device, one after the other. */
const SINGLES = 20;

/** The pause between two of them. */
const SINGLE_PAUSE_MS = 500;

/**
 * Delivers some publishes to all devices of a site, and meanwhile others to one device. The caches and the heap of a fresh
 * server grow for some seconds, whatever it sends, so a small publish must be repeated to be compared with a large one.
 */
export async function broadcastOnce(
  pin: readonly string[],
  site: DeliverSite,
  publishes: number,
): Promise<BroadcastRun> {
  await using server = await startDelivering(pin, site);
  await warmUp(server, site);
  const [instance] = site.instances;
  if (instance === undefined) throw new Error('a site has an instance');
  const bytesBefore = bytesOf(server.pid, 'VmRSS');
  const startedAtMs = performance.now();
  const before = processorSeconds(server.pid);
  let isOver = false;
  const singles = publishToSingles(server, site, () => isOver);
  for (let made = 0; made < publishes; made += 1) {
    const id = await server.publish(instance, INTEREST);
    const { accepted, others } = await server.finished(instance, id);
    if (accepted !== instance.devices || others !== 0) {
      throw new Error(`of ${instance.devices} devices, ${accepted} were accepted, ${others} not`);
    }
  }
  isOver = true;
  const seconds = (performance.now() - startedAtMs) / 1000;
  const used = processorSeconds(server.pid) - before;
  return {
    devices: instance.devices,
    publishes,
    seconds,
    peakBytes: bytesOf(server.pid, 'VmHWM'),
    bytesBefore,
    serverUsEach: (used * 1e6) / (instance.devices * publishes),
    singleMs: await singles,
  };
}

/** Only those count that were finished while the broadcast was under way. */
async function publishToSingles(
  server: DeliveringServer,
  { instances }: DeliverSite,
  isOver: () => boolean,
): Promise<readonly number[]> {
  const took: number[] = [];
  const [instance] = instances;
  while (instance !== undefined && took.length < SINGLES && !isOver()) {
    await Bun.sleep(SINGLE_PAUSE_MS);
    const startedAtMs = performance.now();
    const id = await server.publish(instance, SINGLE_INTEREST);
    await server.finished(instance, id);
    if (!isOver()) took.push(performance.now() - startedAtMs);
  }
  return took;
}

/** Of the process, with all its threads. Linux only. */
function bytesOf(pid: number, name: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
  return Number(kib ?? Number.NaN) * 1024;
}

export const singleSeconds = ({ singleMs }: BroadcastRun): number => median(singleMs) / 1000;
