import type { App } from '../../src/channels/app.ts';
import type { FakeClock } from '../../src/channels/hub.fixture.ts';
import type { AppWebhookEvent } from '../../src/channels/lifecycle/webhook-event.ts';
import { WebhookEvents } from '../../src/channels/lifecycle/webhook-events.ts';
import type { LostEvents } from '../../src/channels/lost-events.ts';
import type { Audience, WebhookSink } from '../../src/channels/ports.ts';
import { Usage } from '../../src/channels/usage/usage.ts';
import { ClusterQuotas } from '../../src/engines/redis/quotas/cluster-quotas.ts';
import { TableMeter } from '../../src/observability/meter.ts';
import type { Log } from '../../src/runtime/ports.ts';
import { RecordingAudience } from './loop-stage.ts';

const nothing = () => undefined;
export const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };

interface PartsOptions {
  readonly log?: Log;
  /** Of one of several servers, which share the usage of apps. */
  readonly serverName?: string;
}

/** What a loop passes to its engine. */
export function partsOfLoop(
  clock: FakeClock,
  reported: AppWebhookEvent[],
  emit: WebhookSink['emit'] = (event) => void reported.push(event),
  { log = silent, serverName }: PartsOptions = {},
) {
  const open = new Map<App, number>();
  const quotas = new ClusterQuotas({
    serverName: serverName ?? '',
    timers: clock,
    openConnections: () => open,
  });
  const shared = serverName === undefined ? undefined : quotas.usage;
  const usage = new Usage({ clock, log, meter: { count: nothing }, shared });
  const webhooks = new WebhookEvents({
    clock,
    usage,
    sink: { emit },
  });
  const audience = new RecordingAudience();
  const terminated: string[] = [];
  const terminate = (_: App, userId: string) => void terminated.push(userId);
  const broadcaster = { usage, audience: audience as unknown as Audience };
  const meter = new TableMeter();
  const historyBytes = 64_000_000;
  const ended: string[] = [];
  return {
    webhooks,
    broadcaster,
    audience,
    terminated,
    terminate,
    meter,
    historyBytes,
    allApps: (): readonly App[] => [],
    /** The channels of which events are lost, each with whom that affects. */
    ended,
    eventsLost: (lost: readonly LostEvents[]) =>
      void ended.push(...lost.map(({ affects, channel }) => `${affects} of ${channel}`)),
    quotas,
    open,
  };
}
