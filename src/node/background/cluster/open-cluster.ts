import type { SaidByGateway, ServerFacts } from '../../../admin/monitoring/monitoring.ts';
import { type Platform, platforms } from '../../../push/model/device.ts';
import { redactedUrl } from '../../../runtime/redact.ts';
import { systemTimers } from '../../../runtime/system-timers.ts';
import type { Readiness } from '../../../transports/admin/readiness.ts';
import type { Webhooks } from '../../../webhooks/webhooks.ts';
import type { RealtimeClient } from '../../link/realtime-client.ts';
import { inspectingLoops } from '../inspecting.ts';
import type { Monitor } from '../monitoring/monitor.ts';
import { answerFor, Cluster, type LocalServer } from './cluster.ts';
import { OtherServers } from './other-servers.ts';

/** Webhook addresses that are named to other servers. */
const ENDPOINTS_MAX = 1_000;

/** Pauses of one platform that are named: devices of browsers name any number of push services. */
const PAUSES_MAX = 20;

export interface OpenClusterOptions {
  readonly facts: () => ServerFacts;
  readonly realtime: RealtimeClient;
  readonly monitor: Monitor;
  readonly readiness: Readiness;
  readonly webhooks: Pick<Webhooks, 'endpoints'>;
  readonly log: LocalServer['log'];
  /** What the gateway of an instance said last to this server. */
  readonly saidLast: (instanceId: string, platform: Platform) => SaidByGateway;
}

/** The servers that act as one, as this one sees them. */
export interface ClusterPart {
  readonly cluster: Cluster;
  /** Takes what a loop of another server has said. */
  receive(from: string, text: string): void;
  /** This server can be asked: it makes itself known. */
  begin(): void;
}

export function openCluster(options: OpenClusterOptions): ClusterPart {
  const { facts, realtime } = options;
  const { name: node, engine, store } = facts();
  const local = localServer(options);
  const others =
    engine === 'redis'
      ? new OtherServers({
          node,
          timers: systemTimers,
          // One loop speaks for this server.
          say: (to, text) => realtime.ask({ what: 'tell-servers', to, text }),
          answer: (question) => answerFor(local, question),
        })
      : undefined;
  return {
    cluster: new Cluster({
      node,
      local,
      others,
      sharesStore: store === 'postgresql',
      clock: systemTimers,
    }),
    receive: (from, text) => others?.receive(from, text),
    begin() {
      // From then on, all know each other, so that one that fails is missed.
      void others?.ask({ what: 'here' });
    },
  };
}

function localServer({
  facts,
  realtime,
  monitor,
  readiness,
  webhooks,
  log,
  saidLast,
}: OpenClusterOptions): LocalServer {
  return {
    ...inspectingLoops(realtime),
    async report() {
      const report = await monitor.report();
      const { version, startedAtMs, engine } = facts();
      const [away] = readiness.awayEngines.values();
      return {
        ...report,
        version,
        startedAtMs,
        engine: { type: engine, awaySinceMs: away?.sinceMs, why: away?.why },
      };
    },
    conditions: () => monitor.check(),
    figures: (sinceMs) => monitor.figures(sinceMs),
    log,
    gateways(instanceId) {
      const paused = monitor.pausesOf(instanceId);
      const of = (platform: Platform) => paused.filter((one) => one.platform === platform);
      const more = (platform: Platform) => Math.max(0, of(platform).length - PAUSES_MAX);
      const said = (platform: Platform) => saidLast(instanceId, platform);
      return {
        pauses: platforms.flatMap((platform) => of(platform).slice(0, PAUSES_MAX)),
        morePauses: { apns: more('apns'), fcm: more('fcm'), web: more('web') },
        said: { apns: said('apns'), fcm: said('fcm'), web: said('web') },
      };
    },
    endpoints: (ownerId) =>
      webhooks
        .endpoints()
        .filter((one) => ownerId === undefined || one.ownerId === ownerId)
        .toSorted((a, b) => b.lastAtMs - a.lastAtMs)
        .slice(0, ENDPOINTS_MAX)
        .map(({ lastAnswer: _, ...one }) => ({ ...one, url: redactedUrl(one.url) })),
  };
}
