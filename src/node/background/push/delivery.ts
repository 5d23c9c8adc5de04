import type { ForwardProxy } from '../../../outgoing/proxy/forward-proxy.ts';
import type { Resolver } from '../../../outgoing/resolve.ts';
import type { BacklogStore } from '../../../push/backlog-store.ts';
import { deliveryLimits } from '../../../push/delivering/limits.ts';
import { Pipeline, type PipelineFigures } from '../../../push/delivering/pipeline.ts';
import type {
  DeliveryStore,
  OpenCircuit,
  PipelinePorts,
  PublishEvents,
} from '../../../push/delivering/ports.ts';
import type { PushTap, PushTaps } from '../../../push/watching/push-tap.ts';
import { stackOf } from '../../../runtime/error-code.ts';
import type { RateLimitedLog } from '../../../runtime/logging/rate-limited-log.ts';
import type { Log } from '../../../runtime/ports.ts';
import { systemTimers } from '../../../runtime/system-timers.ts';
import type { Database } from '../../../stores/database/database.ts';
import { StoredAudience } from '../../../stores/push/devices/audience-source.ts';
import type { LiveInstance } from '../../../tenants/push-instance.ts';
import { StartFailed } from '../../start-failed.ts';
import { GaveWayLines } from './gave-way-lines.ts';
import { type GatewayFault, InstanceGateways } from './instance-gateways.ts';

export interface PushDeliveryOptions {
  readonly database: Database;
  readonly store: DeliveryStore;
  readonly backlog: BacklogStore;
  readonly served: readonly LiveInstance[];
  readonly taps: PushTaps;
  /** Ids of the instances in the configuration. An invalid gateway of one of them stops the start. */
  readonly configured: ReadonlySet<string>;
  /** Reports an error of the store. */
  readonly storeFailed: (error: unknown) => void;
  readonly resolver: Resolver;
  /** Devices on their way to gateways. */
  readonly devicesMax: number;
  readonly proxy: ForwardProxy | undefined;
  /** Makes the receiver of publish events. `instanceId` finds the id of an instance by its number. */
  readonly events: (
    instanceId: (instance: number) => string | undefined,
  ) => PublishEvents & AsyncDisposable;
  /** Handles publishes with a live part when they are due. */
  readonly live: PipelinePorts['live'];
  readonly log: Log;
  /** A rate-limited log, for lines that devices and publishes can cause at any rate. */
  readonly rateLimitedLog: RateLimitedLog;
}

/** The running delivery of publishes. */
export interface PushDelivery extends AsyncDisposable {
  /** Replaces the instances and their gateways. */
  replace(served: readonly LiveInstance[]): void;
  /** Must be called for each accepted publish. */
  wake(): void;
  readonly makeRoom: Pipeline['makeRoom'];
  figures(): PipelineFigures;
  readonly lastOutcomes: Pipeline['lastOutcomes'];
  readonly gateways: InstanceGateways;
}

/** Publishes accepted within this time wake the pipeline only once. */
const WAKE_MS = 5;

/** Starts the delivery. Throws `StartFailed` if a gateway in the configuration is invalid. */
export function openPushDelivery(options: PushDeliveryOptions): PushDelivery {
  const { database, store, backlog, taps, events, log } = options;
  const gateways = openGateways(options);
  const idOf = (instance: number) => gateways.byNumber(instance)?.id;
  const tapOf: TapOf = ({ instance }) => taps.watched?.get(instance);
  const publishEvents = events(idOf);
  const pipeline = new Pipeline({
    store,
    backlog,
    audience: new StoredAudience(database),
    instances: gateways,
    limits: { ...deliveryLimits, sharedDevices: options.devicesMax },
    timers: systemTimers,
    random: Math.random,
    live: options.live,
    taps,
    events: {
      started: (publish) => publishEvents.started(publish),
      finished(publish) {
        tapOf(publish)?.record({ kind: 'finished', publish: publish.id });
        publishEvents.finished(publish);
      },
    },
    notices: noticesOf(options, { idOf, tapOf }),
    isAlone: database.dialect === 'sqlite',
  });
  let cancelWaking: (() => void) | undefined;
  let accepted = 0;
  return {
    replace(changed) {
      logFaults(gateways.replace(changed), log);
      pipeline.wake();
    },
    wake() {
      accepted += 1;
      cancelWaking ??= systemTimers.after(WAKE_MS, () => {
        cancelWaking = undefined;
        pipeline.wake(accepted);
        accepted = 0;
      });
    },
    makeRoom: (...of) => pipeline.makeRoom(...of),
    figures: () => pipeline.figures(),
    lastOutcomes: (instance, platform) => pipeline.lastOutcomes(instance, platform),
    gateways,
    async [Symbol.asyncDispose]() {
      cancelWaking?.();
      await pipeline.stop();
      await publishEvents[Symbol.asyncDispose]();
      await gateways[Symbol.asyncDispose]();
    },
  };
}

/** Opens the gateways of the served instances. */
function openGateways({
  served,
  configured,
  resolver,
  proxy,
  log,
}: PushDeliveryOptions): InstanceGateways {
  const gateways = new InstanceGateways({ log, resolver, proxy });
  const faults = gateways.replace(served);
  const [fatal] = faults.filter(({ instance }) => configured.has(instance));
  if (fatal !== undefined) {
    const { instance, setting, why } = fatal;
    throw new StartFailed({
      exitCode: 2,
      message: `push.instances, ${instance}: ${setting}: ${why}`,
    });
  }
  logFaults(faults, log);
  return gateways;
}

/** Finds the tap of the instance that something concerns, if it is watched. */
type TapOf = (one: { readonly instance: number }) => PushTap | undefined;

interface Instances {
  readonly idOf: (instance: number) => string | undefined;
  readonly tapOf: TapOf;
}

/** Logs what the pipeline notices, and shows it in the live streams of the instance. */
function noticesOf(
  { storeFailed, log, rateLimitedLog }: PushDeliveryOptions,
  { idOf, tapOf }: Instances,
): PipelinePorts['notices'] {
  const whose = ({ instance }: { readonly instance: number }) => ({
    instance: idOf(instance) ?? `number ${instance}`,
  });
  const lines = new GaveWayLines(log);
  return {
    storeFailed,
    gaveWay: (left) => lines.add(whose(left).instance, left),
    circuitOpened(circuit) {
      const fields = { ...fieldsOf(circuit), words: circuit.words };
      rateLimitedLog.warn(titleOf(circuit), whose(circuit), fields);
      tapOf(circuit)?.record({ kind: 'paused', ...fields });
    },
    circuitClosed(circuit) {
      const fields = fieldsOf(circuit);
      rateLimitedLog.info('Gateway recovered', whose(circuit), fields);
      tapOf(circuit)?.record({ kind: 'resumed', ...fields });
    },
    refused(publish, platform, reason, words) {
      const fields = { publish: publish.id, platform, reason, words };
      rateLimitedLog.warn('Gateway refuses a publish for every device', whose(publish), fields);
      tapOf(publish)?.record({ kind: 'publish-refused', ...fields });
    },
    fault(error) {
      const stack = stackOf(error);
      log.error('Fault in push delivery', { error: stack });
    },
  };
}

function logFaults(faults: readonly GatewayFault[], log: Log): void {
  for (const fault of faults) log.error('Invalid gateway settings', { ...fault });
}

function titleOf({ why, isUnproven }: OpenCircuit): string {
  if (why === 'gateway') return 'Gateway fails: sending is paused';
  return isUnproven === true
    ? 'Gateway refuses the credential: no device was reached with it yet'
    : 'Gateway refuses the credential: devices wait until it is accepted';
}

function fieldsOf({ platform, origin, reason }: OpenCircuit) {
  return { platform, origin, reason };
}
