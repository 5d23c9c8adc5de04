import type { Resolver } from '../../outgoing/resolve.ts';
import { createPipeline, type PipelineFigures } from '../../push/delivering/pipeline.ts';
import type { OpenCircuit, PublishEvents } from '../../push/delivering/ports.ts';
import type { DeliveryStore } from '../../push/delivery-store.ts';
import type { Log } from '../../runtime/ports.ts';
import type { RateLimitedLog } from '../../runtime/rate-limited-log.ts';
import { systemTimers } from '../../runtime/system-timers.ts';
import type { Database } from '../../stores/database/database.ts';
import { isStatementFault } from '../../stores/database/faults.ts';
import { StoredAudience } from '../../stores/push/devices/audience-source.ts';
import type { LiveInstance } from '../../tenants/live-instances.ts';
import { StartFailed } from '../start-failed.ts';
import { type GatewayFault, InstanceGateways } from './instance-gateways.ts';
import type { StoreHealth } from './store-health.ts';

export interface PushDeliveryOptions {
  readonly database: Database;
  readonly store: DeliveryStore;
  readonly served: readonly LiveInstance[];
  /** Ids of the instances that the configuration names: what is wrong with them stops the start. */
  readonly configured: ReadonlySet<string>;
  readonly health: StoreHealth;
  readonly resolver: Resolver;
  /** Makes what publishes are told of by; `instanceId` finds the id of an instance by its number. */
  readonly events: (
    instanceId: (instance: number) => string | undefined,
  ) => PublishEvents & AsyncDisposable;
  readonly log: Log;
  /** For what the devices and the publishes of an instance can cause as often as they like. */
  readonly strangerLog: RateLimitedLog;
}

/** What delivers publishes, as it runs. */
export interface PushDelivery extends AsyncDisposable {
  /** Takes over other instances. */
  replace(served: readonly LiveInstance[]): void;
  /** A publish was accepted. */
  wake(): void;
  figures(): PipelineFigures;
}

/** Milliseconds in which many publishes wake the pipeline once: it takes what waits together. */
const WAKE_MS = 5;

/** Starts to deliver. Throws `StartFailed` where a configured gateway cannot be made. */
export function openPushDelivery(options: PushDeliveryOptions): PushDelivery {
  const { database, store, served, configured, health, resolver, events, log, strangerLog } =
    options;
  const gateways = new InstanceGateways(log, resolver);
  const faults = gateways.replace(served);
  const [fatal] = faults.filter(({ instance }) => configured.has(instance));
  if (fatal !== undefined) {
    const { instance, setting, why } = fatal;
    throw new StartFailed({
      exitCode: 2,
      message: `push.instances, ${instance}: ${setting}: ${why}`,
    });
  }
  tellFaults(faults, log);

  const told = health.toldBy('push');
  const idOf = (instance: number) => gateways.byNumber(instance)?.id;
  const whose = ({ instance }: { readonly instance: number }) => ({
    instance: idOf(instance) ?? `number ${instance}`,
  });
  const news = events(idOf);
  const pipeline = createPipeline({
    store,
    audience: new StoredAudience(database),
    instances: gateways,
    timers: { now: Date.now, after: (ms, run) => systemTimers.after(ms, run) },
    random: Math.random,
    events: news,
    notices: {
      storeFailed(error) {
        if (!isStatementFault(error)) told(error);
        else log.error('The store did not do what delivering asked', { why: String(error) });
      },
      // The store's health is looked at each second: what can be read while nothing can be written says nothing of it.
      storeWorked: () => undefined,
      paused(pause) {
        const fields = { ...fieldsOf(pause), words: pause.words };
        strangerLog.warn(titleOf(pause), whose(pause), fields);
      },
      resumed: (pause) =>
        strangerLog.info('Devices are reached again', whose(pause), fieldsOf(pause)),
      refused(publish, platform, reason, words) {
        const fields = { publish: publish.id, platform, reason, words };
        strangerLog.warn('A publish is refused for every device', whose(publish), fields);
      },
      fault(error) {
        const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
        log.error('Delivering failed inside the server', { error: stack });
      },
    },
    isAlone: database.dialect === 'sqlite',
  });
  let waking: NodeJS.Timeout | undefined;
  let accepted = 0;
  return {
    replace(changed) {
      tellFaults(gateways.replace(changed), log);
      pipeline.wake();
    },
    wake() {
      accepted += 1;
      waking ??= setTimeout(() => {
        waking = undefined;
        pipeline.wake(accepted);
        accepted = 0;
      }, WAKE_MS);
    },
    figures: () => pipeline.figures(),
    async [Symbol.asyncDispose]() {
      clearTimeout(waking);
      await pipeline.stop();
      await news[Symbol.asyncDispose]();
      await gateways[Symbol.asyncDispose]();
    },
  };
}

function tellFaults(faults: readonly GatewayFault[], log: Log): void {
  for (const fault of faults) log.error('The settings of a gateway cannot be used', { ...fault });
}

function titleOf({ why, isUnproven }: OpenCircuit): string {
  if (why === 'gateway') return 'A gateway is in trouble: sending to it is paused';
  return isUnproven === true
    ? 'A gateway does not accept the credential: no device has been reached with it yet'
    : 'A gateway does not accept the credential: devices wait until it does';
}

function fieldsOf({ platform, origin, reason }: OpenCircuit) {
  return { platform, origin, reason };
}
