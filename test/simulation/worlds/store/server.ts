import { CompletionEvents } from '../../../../src/push/delivering/completion-events.ts';
import { deliveryLimits } from '../../../../src/push/delivering/limits.ts';
import { Pipeline } from '../../../../src/push/delivering/pipeline.ts';
import type { GatewayOf } from '../../../../src/push/delivering/ports.ts';
import type { Gateway } from '../../../../src/push/gateway.ts';
import { LiveStage } from '../../../../src/push/live/live-stage.ts';
import type { Platform } from '../../../../src/push/model/device.ts';
import type { InstanceWebhook } from '../../../../src/push/model/instance.ts';
import type { NewPublish, PublishId } from '../../../../src/push/model/publish.ts';
import type { Log } from '../../../../src/runtime/ports.ts';
import { monotonicTimers, systemTimers } from '../../../../src/runtime/system-timers.ts';
import { Database } from '../../../../src/stores/database/database.ts';
import { StoredBacklog } from '../../../../src/stores/push/backlog/backlog-store.ts';
import { StoredAudience } from '../../../../src/stores/push/devices/audience-source.ts';
import { StoredDevices } from '../../../../src/stores/push/devices/device-store.ts';
import { StoredDeliveries } from '../../../../src/stores/push/jobs/delivery-store.ts';
import { StoredStories } from '../../../../src/stores/push/publishes/device-story.ts';
import { StoredLive } from '../../../../src/stores/push/publishes/live-results.ts';
import { PendingBodies } from '../../../../src/stores/push/publishes/pending-bodies.ts';
import { StoredPendingCompletionEvents } from '../../../../src/stores/push/publishes/pending-completion-events.ts';
import { StoredPublishes } from '../../../../src/stores/push/publishes/publish-store.ts';
import { StoredOutbox } from '../../../../src/stores/webhooks/outbox.ts';
import { StoredOutboxLog } from '../../../../src/stores/webhooks/outbox-log.ts';
import type { NewOutboxRequest, Outbox } from '../../../../src/webhooks/outbox.ts';
import { PushWebhooks } from '../../../../src/webhooks/push-events.ts';
import { appOf } from '../../../../src/webhooks/webhooks.fixture.ts';
import { Webhooks } from '../../../../src/webhooks/webhooks.ts';
import type { Random } from '../../../../testing/random.ts';
import type { Context } from '../../kernel/context.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { SimulatedGateways } from '../push/gateways.ts';
import type { LiveUsers } from '../push/live-users.ts';
import type { Accept } from '../push/publishes.ts';
import type { Disk } from './disk.ts';
import { APP_HOOK, type Endpoints, INSTANCE_HOOK } from './endpoints.ts';

const INSTANCE_ID = '0b8e7c9c-0000-4000-8000-000000000001';

const webhooks: readonly InstanceWebhook[] = [
  { url: INSTANCE_HOOK, events: ['v1.PublishToUsersAttempt'], secret: 'secret', customData: {} },
];

function logOf({ trace }: Kernel): Log {
  const say: Log['info'] = (text, fields) => trace?.(`${text} ${JSON.stringify(fields ?? {})}`);
  return { debug: say, info: say, warn: say, error: say };
}

export interface StoreServerOptions {
  readonly kernel: Kernel;
  readonly random: Random;
  readonly disk: Disk;
  /** The number of its only instance in the store. */
  readonly instance: number;
  readonly gateways: SimulatedGateways;
  readonly app: LiveUsers;
  readonly endpoints: Endpoints;
  /** Whether webhooks of the app are sent in batches. */
  readonly isBatching: boolean;
  /** Finds a publish whose users are to be asked. */
  readonly publish: (id: PublishId) => NewPublish | undefined;
  readonly sabotage: string | undefined;
  readonly say: (rule: string, text: string) => void;
}

/** How many of the webhooks that a fault can change it does change. */
const SABOTAGED = 0.3;

/** The background loop of one server, in one life: its webhooks and its push, as `node/background` wires them. */
export interface StoreServer {
  readonly context: Context;
  readonly accept: Accept;
  readonly devices: StoredDevices;
  readonly webhooks: Webhooks;
  readonly pipeline: Pipeline;
}

/** Starts a server. Rejects if its store cannot be used. Runs in the context. */
export async function startServer(
  context: Context,
  die: () => void,
  options: StoreServerOptions,
): Promise<StoreServer> {
  const { kernel, disk, endpoints, app, random, instance, gateways, say } = options;
  const isAlive = () => !context.isDead;
  const log = logOf(kernel);
  /** What comes from outside is handled by the server, unless it has died. */
  const inside = async <T>(outside: Promise<T>): Promise<T> => {
    const value = await outside;
    return await new Promise((resolve) => kernel.after(0, () => resolve(value), context));
  };
  const database = new Database(disk.usedBy({ isDead: () => context.isDead, die }));
  const served = appOf('app', [
    {
      url: APP_HOOK,
      events: ['channel_occupied', 'channel_vacated', 'member_added', 'member_removed'],
      batching: options.isBatching,
    },
  ]);
  const owner = { id: INSTANCE_ID, webhooks };
  const opened = await Webhooks.open({
    outbox: outboxOf(database, options),
    outboxLog: new StoredOutboxLog(database),
    app: () => served,
    instance: () => owner,
    settings: { timeoutSeconds: 5, logDays: 7 },
    send: (request) => inside(endpoints.send(request)),
    log,
    timers: systemTimers,
    monotonic: monotonicTimers,
  });
  const bodies = new PendingBodies();
  const publishes = new StoredPublishes(database, bodies);
  const stage = new LiveStage({
    ask: (publish) => inside(app.ask(publish)),
    store: new StoredLive(database),
    now: Date.now,
    timers: monotonicTimers,
    settled: () => pipeline.wake(),
    counted: () => undefined,
    failed: () => undefined,
  });
  const ask = ({ id, live, target: { names } }: NewPublish) => {
    if (live !== undefined) stage.add({ id, instance, appId: 'app', live, userIds: names });
  };
  const events = new CompletionEvents({
    publishes,
    stories: new StoredStories(database),
    pending: new StoredPendingCompletionEvents(database),
    sink: new PushWebhooks({
      instances: { byId: () => owner },
      webhooks: opened,
      now: Date.now,
    }),
    instanceId: () => INSTANCE_ID,
    isAlone: true,
    timers: systemTimers,
    storeFailed: () => undefined,
    log,
  });
  const delivered = {
    id: INSTANCE_ID,
    retryMs: 72 * 3_600_000,
    pendingBytesMax: 0,
    gateways: insideOf(gateways.of(instance, 0, isAlive), inside),
  };
  const pipeline: Pipeline = new Pipeline({
    store: new StoredDeliveries(database),
    backlog: new StoredBacklog(database, bodies),
    audience: new StoredAudience(database),
    instances: { byNumber: () => delivered },
    timers: systemTimers,
    random: random.next,
    events,
    notices: {
      storeFailed: () => undefined,
      gaveWay: () => undefined,
      circuitOpened: () => undefined,
      circuitClosed: () => undefined,
      refused: () => undefined,
      fault: (error) => say('fault', String(error)),
    },
    live: {
      due({ id }) {
        const publish = options.publish(id);
        if (publish !== undefined) ask(publish);
      },
    },
    isAlone: true,
    limits: { ...deliveryLimits, pageDevices: 4 },
  });
  return {
    context,
    devices: new StoredDevices(database),
    webhooks: opened,
    pipeline,
    async accept(publish) {
      const acceptance = await publishes.accept(publish);
      pipeline.wake();
      // One that repeats another was asked then, and a scheduled one will be when it is due.
      const isNew = acceptance.result === 'accepted' && acceptance.id === publish.id;
      if (isNew && publish.sendAtMs === undefined) ask(publish);
      return acceptance;
    },
  };
}

/** What is stored instead of a webhook request, where a fault is planted. */
const requestChanges: Readonly<
  Record<string, (request: NewOutboxRequest) => readonly NewOutboxRequest[]>
> = {
  'lose-webhook': () => [],
  /** The same events once more, which are not seen to be the same. */
  'double-webhook': (request) => [
    request,
    { ...request, id: `${request.id}-2`, body: request.body.replace('"time_ms":', '$& ') },
  ],
};

function outboxOf(database: Database, { sabotage, random }: StoreServerOptions): Outbox {
  const outbox = new StoredOutbox(database);
  const change = requestChanges[sabotage ?? ''];
  if (change === undefined) return outbox;
  const write = outbox.write.bind(outbox);
  outbox.write = (requests, settled) => {
    const changed = requests.flatMap((one) => (random.chance(SABOTAGED) ? change(one) : one));
    return write(changed, settled);
  };
  return outbox;
}

type Inside = <T>(outside: Promise<T>) => Promise<T>;

function insideOf({ apns, fcm, web }: GatewayOf, inside: Inside): GatewayOf {
  const wrapped = <P extends Platform>(gateway: Gateway<P> | undefined): Gateway<P> | undefined =>
    gateway && {
      ...gateway,
      prepare(notification) {
        const deliver = gateway.prepare(notification);
        return (recipient) => inside(deliver(recipient));
      },
    };
  return { apns: wrapped(apns), fcm: wrapped(fcm), web: wrapped(web) };
}
