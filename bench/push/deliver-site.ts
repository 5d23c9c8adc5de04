import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storeFileOf } from '../servers.ts';
import { type DeliverInstance, deliverInstances } from './deliver-instances.ts';
import { type SeedOptions, seedDevices } from './deliver-seed.ts';
import { type GatewayProcess, startGateway } from './gateway-process.ts';
import type { SinkKind } from './sink-calls.ts';

/** A store with devices, and the gateway that reaches them. */
export interface DeliverSite extends AsyncDisposable {
  /** Where the store is, and whatever else a server needs. */
  readonly folder: string;
  readonly kind: SinkKind;
  readonly gateway: GatewayProcess;
  readonly instances: readonly DeliverInstance[];
}

export interface SiteSize {
  readonly kind: SinkKind;
  readonly devices: number;
  /** The number of instances that share the devices. */
  readonly instances: number;
  /** See `SeedOptions`. */
  readonly seed?: SeedOptions;
}

/** FCM's latency per message. */
const FCM_LATENCY_MS = 50;

/** Starts a gateway and fills a store. `pin` is the command that pins the gateway to its core, or empty. */
export async function openSite(pin: readonly string[], size: SiteSize): Promise<DeliverSite> {
  const { kind, devices } = size;
  await using parts = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-deliver-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  // For an end that unwinds nothing, such as Ctrl-C.
  process.once('exit', remove);
  parts.defer(() => {
    process.off('exit', remove);
    remove();
  });
  const gateway = parts.use(await startGateway(pin, kind, kind === 'fcm' ? FCM_LATENCY_MS : 0));
  const instances = deliverInstances(devices, size.instances);
  await seedDevices(storeFileOf(folder), kind, gateway.origin, instances, size.seed);
  const open = parts.move();
  return {
    folder,
    kind,
    gateway,
    instances,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
