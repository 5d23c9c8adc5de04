import type { SaidByGateway, ServerFacts } from '../../../admin/monitoring/monitoring.ts';
import { type Platform, platforms } from '../../../push/model/device.ts';
import type { UsedKey } from '../../../runtime/keys/key-uses.ts';
import { redactedUrl } from '../../../runtime/logging/redact.ts';
import type { Log } from '../../../runtime/ports.ts';
import { systemTimers } from '../../../runtime/system-timers.ts';
import type { Readiness } from '../../../transports/admin/readiness.ts';
import type { Webhooks } from '../../../webhooks/webhooks.ts';
import type { RealtimeClient } from '../../link/realtime-client.ts';
import type { Monitor } from '../monitoring/monitor.ts';
import { answerFor, Cluster, type LocalServer } from './cluster.ts';
import { inspectingLoops, keyUsesOfApp } from './inspecting.ts';
import type { Installation } from './installation.ts';
import { OtherServers } from './other-servers.ts';
import { Strangers } from './strangers.ts';

/** The limit of webhook addresses in an answer to another server. */
const ENDPOINTS_MAX = 1_000;

/** The limit of paused routes of one platform in an answer: browsers can name any number of push services. */
const PAUSES_MAX = 20;

export interface OpenClusterOptions {
  readonly facts: () => ServerFacts;
  readonly realtime: RealtimeClient;
  readonly monitor: Monitor;
  readonly readiness: Readiness;
  readonly webhooks: Pick<Webhooks, 'endpoints'>;
  readonly lines: LocalServer['log'];
  /** Finds out what this server belongs to. */
  readonly installation: () => Promise<Installation | undefined>;
  readonly log: Log;
  /** When the secret keys of an instance were last used on this server. */
  readonly secretKeyUses: (instanceId: string) => readonly UsedKey[];
  /** The latest outcome of the gateway of an instance on this server. */
  readonly saidLast: (instanceId: string, platform: Platform) => SaidByGateway;
}

/** This server's view of the cluster. */
export interface ClusterPart extends Disposable {
  readonly cluster: Cluster;
  /** Handles a message from a loop of another server. Returns `false` if it is for others or cannot be read. */
  receive(from: string, text: string): boolean;
  /** Announces this server to the others, which may ask it from then on, and notices if one of them fails. */
  begin(): void;
}

export function openCluster(options: OpenClusterOptions): ClusterPart {
  const { facts, realtime } = options;
  const { name: node, engine, store } = facts();
  const strangers: Strangers = new Strangers({
    own: options.installation,
    ask: async (name) => installationIn(await others?.askOne(name, { what: 'here' })),
    timers: systemTimers,
    log: options.log,
  });
  const local = localServer(options, strangers);
  const others =
    engine === 'redis'
      ? new OtherServers({
          node,
          timers: systemTimers,
          log: options.log,
          // One loop represents this server.
          send: (to, text) => realtime.ask({ what: 'notify-servers', to, text }),
          answer: (question, from) => answerFor(local, question, from),
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
    receive: (from, text) => others?.receive(from, text) === true,
    begin() {
      // From then on the servers know each other, so a failed one is noticed.
      if (others === undefined) return;
      void introduce(others, strangers, options.installation);
      others.watch();
    },
    [Symbol.dispose]: () => others?.[Symbol.dispose](),
  };
}

/** Tells the other servers what this one belongs to, and learns the same of them. */
async function introduce(
  others: OtherServers,
  strangers: Strangers,
  installation: OpenClusterOptions['installation'],
): Promise<void> {
  const { answers } = await others.ask({ what: 'here', installation: await installation() });
  for (const { node, answer } of answers) await strangers.meet(node, installationIn(answer));
}

function installationIn(answer: unknown): unknown {
  return Object(answer).installation;
}

function localServer(
  {
    facts,
    realtime,
    monitor,
    readiness,
    webhooks,
    lines,
    installation,
    secretKeyUses,
    saidLast,
  }: OpenClusterOptions,
  strangers: Strangers,
): LocalServer {
  return {
    ...inspectingLoops(realtime),
    async meet(node, said) {
      // Not awaited: the asking server waits for the answer.
      void strangers.meet(node, said);
      return await installation();
    },
    strangers: () => strangers.list(),
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
    async keyUses({ kind, id }) {
      const keys = kind === 'app' ? await keyUsesOfApp(realtime, id) : secretKeyUses(id);
      return { sinceMs: facts().startedAtMs, keys };
    },
    conditions: () => monitor.check(),
    figures: (sinceMs) => monitor.figures(sinceMs),
    log: lines,
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
