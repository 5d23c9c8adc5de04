import type { LoopDelay } from '../../observability/loop-delay.ts';
import { withTimeout } from '../../runtime/system-timers.ts';
import type { Clients } from '../../transports/clients/clients.ts';
import { drain } from '../../transports/clients/closing/drain.ts';
import { endWith } from '../../transports/clients/closing/end.ts';
import type { Connections } from '../../transports/clients/connections.ts';
import { endVisit } from '../../transports/http-fallback/homes/session-cluster.ts';
import type { LoopTaps } from '../../watching/loop-taps.ts';
import { stoppingNotice } from '../link/cluster-format.ts';
import type { UsageReports } from './apps.ts';
import type { FallbackSessions } from './clients/fallback.ts';
import type { Listeners } from './clients/listeners.ts';
import type { LoopEngine } from './engine/engine.ts';
import type { Quotas } from './engine/quotas.ts';
import type { Realtime, RealtimeOptions } from './realtime.ts';
import type { Relays } from './relays.ts';

/** The time for open requests and closing handshakes when the server stops. Milliseconds. */
const STOP_WAIT_MS = 1000;

export interface DrainParts extends Pick<RealtimeOptions, 'config' | 'links' | 'serverName'> {
  readonly cluster: Quotas['cluster'];
  readonly connections: Connections;
  readonly fallback: FallbackSessions;
  readonly listeners: Listeners;
  readonly clients: Clients;
  /** Stops what is checked regularly while clients are connected. */
  readonly stopChecks: () => void;
}

/** Stops listening, and closes all connections over the drain time. */
export async function drainClients(parts: DrainParts): Promise<void> {
  const { config, links, cluster, connections, fallback, listeners, clients } = parts;
  const { drainSeconds } = config;
  const { sessions, cluster: elsewhere } = fallback;
  if (links.index === 0) void cluster?.bus.notify(undefined, stoppingNotice(parts.serverName));
  sessions.stop();
  elsewhere?.stop();
  const stopped = listeners.close();
  await Promise.all([
    drain(connections, drainSeconds, (connection) => endWith(connection, 'server-stopping')),
    elsewhere && drain(elsewhere, drainSeconds, (outlet) => endVisit(outlet, 'server-stopping')),
  ]);
  parts.stopChecks();
  // Limited, because a client may keep its end half open forever.
  await withTimeout(STOP_WAIT_MS, stopped);
  await withTimeout(STOP_WAIT_MS, listeners.end());
  await clients.departures.done();
}

export interface CloseParts extends Pick<RealtimeOptions, 'links' | 'toBackground'> {
  readonly taps: LoopTaps;
  readonly usageReports: UsageReports;
  readonly exchange: Quotas['exchange'];
  readonly relays: Relays;
  readonly engine: LoopEngine;
  readonly loopDelay: LoopDelay;
}

/** Makes what closes a drained loop, and what it must be notified of meanwhile. */
export function closingOf(parts: CloseParts): Pick<Realtime, 'backgroundSaidGoodbye' | 'close'> {
  const goodbye = Promise.withResolvers<void>();
  return {
    backgroundSaidGoodbye: () => goodbye.resolve(),
    close: () => closeLoop(parts, goodbye.promise),
  };
}

async function closeLoop(parts: CloseParts, goodbye: Promise<void>): Promise<void> {
  const { links, taps, usageReports, exchange, relays, engine, loopDelay, toBackground } = parts;
  // Last, so that no webhook events and no usage are lost.
  taps.stop();
  usageReports.stop();
  exchange?.stop();
  relays.webhooks.flush();
  // Limited, because Redis may be away.
  await withTimeout(STOP_WAIT_MS, engine.close());
  relays.webhooks.flush();
  const saved = engine.saveHistories();
  if (saved !== undefined && saved.length > 0) toBackground({ type: 'histories', saved });
  usageReports.send();
  if (links.index !== 0) {
    // The main thread stops the background loop, and only its own messages are sure to arrive before that.
    toBackground({ type: 'goodbye' });
    await withTimeout(STOP_WAIT_MS, goodbye);
  }
  loopDelay[Symbol.dispose]();
  links[Symbol.dispose]();
}
