import type { Revocations } from '../../../channels/grants/revocations.ts';
import type { Hub } from '../../../channels/hub.ts';
import { WebhookEvents } from '../../../channels/lifecycle/webhook-events.ts';
import type { Audience, KeySetSource, Turns } from '../../../channels/ports.ts';
import { ProblemBook } from '../../../channels/problems/problem-book.ts';
import { TokenTurns } from '../../../channels/signatures/token-turns.ts';
import { LocalChannels } from '../../../channels/subscribing/local-channels.ts';
import { MemberSessions } from '../../../channels/subscribing/member-sessions.ts';
import type { Session } from '../../../channels/subscribing/session.ts';
import { StayBudget } from '../../../channels/subscribing/stay-budget.ts';
import type { Usage } from '../../../channels/usage/usage.ts';
import { UserSessions } from '../../../channels/users/user-sessions.ts';
import { messageOf } from '../../../runtime/error-code.ts';
import type { Log } from '../../../runtime/ports.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import type { MemoryAppDirectory } from '../../../tenants/app-directory.ts';
import { type AddressKey, keyOf } from '../../../transports/clients/addresses/packed-address.ts';
import type { Clients } from '../../../transports/clients/clients.ts';
import { ClientConnection } from '../../../transports/clients/connection.ts';
import type { LoopBase } from '../loop-base.ts';
import type { Relays } from '../relays.ts';
import { type LoopEngine, openEngine } from './engine.ts';
import { LiveLoop } from './live-loop.ts';
import type { ClusterLinks } from './quotas.ts';

export interface CoreParts {
  readonly cluster: ClusterLinks | undefined;
  readonly apps: MemoryAppDirectory;
  readonly usage: Usage;
  readonly revocations: Revocations;
  readonly relays: Relays;
  readonly audience: Audience;
  readonly turns: Turns | undefined;
  readonly keySets: KeySetSource;
  /** The clients of this loop. They are opened later, because they need the hub. */
  readonly clients: () => Clients;
}

/** The core of a loop with its engine. */
export interface Core {
  readonly hub: Hub;
  readonly engine: LoopEngine;
  readonly live: LiveLoop;
}

/** What this loop itself holds. */
type Local = Pick<Hub, 'channels' | 'sessions' | 'members' | 'stays' | 'webhooks'>;

/** The share of the subscriptions of a server that members may have who stay without a connection. */
const STAYS_SHARE = 1 / 4;

/** Opens the core. */
export function openCore(base: LoopBase, parts: CoreParts): Core {
  const { settings, totals, timers } = base;
  const { usage, relays } = parts;
  const local: Local = {
    channels: new LocalChannels(settings.maxSubscriptions, totals?.subscriptions),
    sessions: new UserSessions(),
    members: new MemberSessions(),
    stays: new StayBudget(settings.maxSubscriptions * STAYS_SHARE, monotonicTimers),
    webhooks: new WebhookEvents({ clock: timers, usage, sink: relays.webhooks }),
  };
  const live = openLive(base, parts, local);
  const engine = openEngineOf(base, parts, { local, live });
  return { hub: hubOf(base, parts, { local, live, engine }), engine, live };
}

function openLive({ links }: LoopBase, { clients, cluster }: CoreParts, local: Local): LiveLoop {
  return new LiveLoop({
    sessions: local.sessions,
    members: local.members,
    // All sessions of a loop are its connections.
    probe: (session, number) =>
      session instanceof ClientConnection ? clients().probe(session, number) : undefined,
    links,
    bus: cluster?.bus,
    timers: monotonicTimers,
  });
}

function openEngineOf(
  { links, settings, memory, timers, log, meter, toBackground }: LoopBase,
  { cluster, apps, audience, usage, clients }: CoreParts,
  { local, live }: { readonly local: Local; readonly live: LiveLoop },
): LoopEngine {
  const { shares } = memory;
  return openEngine({
    links,
    cluster,
    apps,
    channels: local.channels,
    timers,
    log,
    meter,
    webhooks: local.webhooks,
    broadcaster: { audience, usage, asked: live.asked },
    historyBytes: settings.historyBytes,
    remembered: { items: shares.rememberedItems, cachedCharacters: shares.cachedCharacters },
    terminate: (app, userId) => clients().terminate(app, userId),
    allApps: () => apps.all(),
    eventsLost: (lost) => clients().lostEvents.close(lost),
    onState: (away) => toBackground({ type: 'engine', away }),
  });
}

/** Restores the histories of before the restart. Nothing keeps them in memory: they may be large. */
export function restoreHistories(
  histories: SharedArrayBuffer | undefined,
  { engine, log }: { readonly engine: LoopEngine; readonly log: Log },
): void {
  if (histories === undefined) return;
  try {
    engine.restoreHistories(new Uint8Array(histories));
  } catch (error) {
    log.warn('Histories of before the restart cannot be used: clients that resume learn of a gap', {
      why: messageOf(error),
    });
  }
}

function hubOf(
  { settings, timers, log, rateLimitedLog, meter }: LoopBase,
  { audience, turns, usage, revocations, relays, keySets, clients }: CoreParts,
  parts: { readonly local: Local; readonly live: LiveLoop; readonly engine: LoopEngine },
): Hub {
  return {
    ...parts.local,
    audience,
    authority: parts.engine.authority,
    clock: timers,
    log,
    rateLimitedLog,
    meter,
    usage,
    ruleEvents: relays.ruleEvents,
    problems: new ProblemBook(timers),
    endConnectionOf: (appId) => clients().endConnectionOf(appId),
    hastenDepartures: () => clients().departures.hasten(),
    // A full buffer closes the connection, so half of it stays free for live events.
    historySendBytes: settings.sendBufferBytes / 2,
    subscriptionErrors: settings.subscriptionErrors,
    authorizationTimeoutSeconds: settings.authorizationTimeoutSeconds,
    revocations,
    revoke: (revocation) => relays.revocations.revoke(revocation),
    openedAtMs: (session) =>
      // All sessions of a loop are its connections.
      session instanceof ClientConnection
        ? timers.now() - monotonicTimers.now() + session.openedAtMs
        : timers.now(),
    asked: parts.live.asked,
    keySets,
    tokenTurns: new TokenTurns({ timers: monotonicTimers, addressOf }),
    turns,
  };
}

/** All sessions of a loop are its connections. */
function addressOf(session: Session): AddressKey {
  return session instanceof ClientConnection ? keyOf(session.address) : '';
}
