import type { GatewaysOfServer } from '../../asking/facts/gateways.ts';
import type { LogPage, LogQuery } from '../../asking/facts/log.ts';
import type { Condition, Installation, ServerFacts } from '../../asking/facts/servers.ts';
import type { SourceOfServer } from '../../asking/facts/sources.ts';
import type { AskLoops } from '../../asking/own-answers.ts';
import { findConnections } from '../../asking/paging.ts';
import type { QueryOf, ServerAnswers } from '../../asking/questions.ts';
import type { LastOutcomes } from '../../push/delivering/ports.ts';
import { byPlatform, type Platform, platforms } from '../../push/model/device.ts';
import { mergeUses, type UsedKey } from '../../runtime/keys/key-uses.ts';
import { redactedUrl } from '../../runtime/logging/redact.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import type { Readiness } from '../../transports/admin/readiness.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';
import type { Stranger } from './cluster/strangers.ts';
import type { Monitor } from './monitoring/monitor.ts';

/** The limit of webhook addresses in an answer to another server. */
const ENDPOINTS_MAX = 1_000;

/** The limit of paused routes of one platform in an answer: browsers can name any number of push services. */
const PAUSES_MAX = 20;

export interface ServerAnswersOptions {
  readonly facts: () => ServerFacts;
  readonly realtime: AskLoops;
  readonly monitor: Pick<Monitor, 'report' | 'check' | 'figures' | 'pausesOf'>;
  readonly readiness: Pick<Readiness, 'awayEngines'>;
  readonly webhooks: Pick<Webhooks, 'endpoints'>;
  readonly lines: (query: LogQuery) => LogPage;
  readonly sources: () => readonly SourceOfServer[];
  /** When the secret keys of an instance were last used on this server. */
  readonly secretKeyUses: (instanceId: string) => readonly UsedKey[];
  /** The latest outcomes of the gateway of an instance on this server. */
  readonly lastOutcomes: (instanceId: string, platform: Platform) => LastOutcomes;
}

/** What this server knows of the others. */
export interface Neighbours {
  /** Notes what another server belongs to, and returns what this one does. */
  meet(node: string | undefined, said: unknown): Promise<Installation | undefined>;
  /** The servers of other installations that are running; `undefined`: this server is not one of several. */
  strangers(): readonly Stranger[] | undefined;
}

/** What this server answers from what its background loop knows, by the name of the question. */
export function serverAnswers(
  options: ServerAnswersOptions,
  neighbours: Neighbours,
): ServerAnswers {
  const { facts, realtime, monitor, readiness, webhooks, lines, sources } = options;
  return {
    here: async ({ installation }, from) => ({
      installation: await neighbours.meet(from, installation),
    }),
    alive: () => true,
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
    async conditions(_, from) {
      const checked = await monitor.check();
      // The other servers notice strangers by themselves.
      const strangers = from === undefined ? neighbours.strangers() : undefined;
      if (strangers === undefined) return checked;
      const conditions = [...checked.conditions, ...strangers.map(foreign)];
      return { ...checked, checked: checked.checked + 1, conditions };
    },
    figures: ({ sinceMs }) => monitor.figures(sinceMs),
    log: lines,
    'key-uses': async ({ tenant }) => ({
      sinceMs: facts().startedAtMs,
      keys: await keyUses(options, tenant),
    }),
    gateways: (query) => gatewaysOf(options, query),
    endpoints: ({ ownerId }) =>
      webhooks
        .endpoints()
        .filter((one) => ownerId === undefined || one.ownerId === ownerId)
        .toSorted((a, b) => b.lastAtMs - a.lastAtMs)
        .slice(0, ENDPOINTS_MAX)
        .map(({ lastAnswer: _, ...one }) => ({ ...one, url: redactedUrl(one.url) })),
    sources: () => sources(),
    connections: (filter) => findConnections(realtime, filter, monotonicTimers),
  };
}

async function keyUses(
  { realtime, secretKeyUses }: ServerAnswersOptions,
  { kind, id }: QueryOf<'key-uses'>['tenant'],
): Promise<readonly UsedKey[]> {
  if (kind === 'instance') return secretKeyUses(id);
  return mergeUses(await realtime.askAll('app-key-uses', { appId: id }));
}

function gatewaysOf(
  { monitor, lastOutcomes }: ServerAnswersOptions,
  { instanceId }: QueryOf<'gateways'>,
): GatewaysOfServer {
  const paused = monitor.pausesOf(instanceId);
  const of = (platform: Platform) => paused.filter((one) => one.platform === platform);
  return {
    pauses: platforms.flatMap((platform) => of(platform).slice(0, PAUSES_MAX)),
    morePauses: byPlatform((platform) => Math.max(0, of(platform).length - PAUSES_MAX)),
    said: byPlatform((platform) => lastOutcomes(instanceId, platform)),
  };
}

/** The condition that reports a server of another installation. */
function foreign({ node, why, sinceMs }: Stranger): Condition {
  return {
    id: 'other-installation',
    level: 'bad',
    text: `The server ${node} is of another installation, but uses the same Redis under the same names: ${why}.`,
    advice:
      'Events and members of apps with the same id reach each other. Give one installation an `engine.keyPrefix` or a database of Redis of its own. `fanfare doctor --redis` names its servers.',
    sinceMs,
  };
}
