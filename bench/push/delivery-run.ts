import { type CpuUsage, watchCpu } from '../machine/cpu-usage.ts';
import { quiet } from '../machine/quiet.ts';
import { INTEREST } from './deliver-instances.ts';
import type { DeliverSite } from './deliver-site.ts';
import {
  type DeliveringOptions,
  type DeliveringServer,
  startDelivering,
  warmUp,
} from './delivering-server.ts';

/** What it took to deliver a publish of each instance to all of its devices. */
export interface DeliveryRun {
  readonly devices: number;
  /** From before the first publish was sent until the last notification was accepted. */
  readonly seconds: number;
  readonly perSecond: number;
  /** The highest rate over `OVER_SECONDS`; 0 if it did not take that long. */
  readonly bestPerSecond: number;
  readonly cpu: CpuUsage;
  /** The gateway's own share of its core. */
  readonly gatewayCpu: number;
}

/** Over how long the highest rate is measured. */
const OVER_SECONDS = 5;

/** A gateway that has received nothing for this long will not receive anything any more. */
const SILENCE_MS = 5_000;

/**
 * Delivers to all devices of a site, with a fresh, warmed-up server. Throws if a device got the notification twice,
 * or not at all.
 */
export async function deliverOnce(
  pin: readonly string[],
  site: DeliverSite,
  { fields, ...options }: DeliveringOptions & { readonly fields?: object } = {},
): Promise<DeliveryRun> {
  await using server = await startDelivering(pin, site, options);
  await warmUp(server, site);
  const { gateway, instances } = site;
  const devices = instances.reduce((sum, instance) => sum + instance.devices, 0);
  await quiet();
  await gateway.call('count', null);
  const stopCpu = watchCpu({ server: server.pid, load: gateway.pid });

  const startedAtMs = Date.now();
  const ids = await publishToAll(server, site, fields);
  const arrived = await gateway.call('arrive', {
    notifications: devices,
    silenceMs: SILENCE_MS,
    overSeconds: OVER_SECONDS,
  });
  const cpu = stopCpu();
  await checkDelivered(server, site, ids);

  const seconds = (arrived.lastAtMs - startedAtMs) / 1000;
  return {
    devices,
    seconds,
    perSecond: devices / seconds,
    bestPerSecond: arrived.bestPerSecond,
    cpu,
    gatewayCpu: arrived.cpuSeconds / seconds,
  };
}

/** Publishes to all devices, each instance to its own; settles with the ids when all is accepted. */
async function publishToAll(
  server: DeliveringServer,
  { instances }: Pick<DeliverSite, 'instances'>,
  fields?: object,
): Promise<readonly string[]> {
  return await Promise.all(instances.map((instance) => server.publish(instance, INTEREST, fields)));
}

/** Waits until the publishes are finished. Every device must have got them once, and the server must report that. */
async function checkDelivered(
  server: DeliveringServer,
  { gateway, instances }: Pick<DeliverSite, 'gateway' | 'instances'>,
  ids: readonly string[],
): Promise<void> {
  let devices = 0;
  for (const [index, instance] of instances.entries()) {
    devices += instance.devices;
    const { accepted, others } = await server.finished(instance, ids[index] ?? '');
    if (accepted !== instance.devices || others !== 0) {
      throw new Error(`of ${instance.devices} devices, ${accepted} were accepted, ${others} not`);
    }
  }
  const { notifications } = await gateway.call('arrive', {
    notifications: devices,
    silenceMs: 0,
    overSeconds: OVER_SECONDS,
  });
  if (notifications !== devices) {
    throw new Error(`the gateway got ${notifications} notifications for ${devices} devices`);
  }
}
