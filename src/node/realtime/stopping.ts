import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LoopDelay } from '../../observability/loop-delay.ts';
import { withTimeout } from '../../runtime/system-timers.ts';
import { DRAIN_STEP_MS, drain } from '../../transports/clients/closing/drain.ts';
import { endWith } from '../../transports/clients/closing/end.ts';
import type { Connections } from '../../transports/clients/connections.ts';
import { endVisit } from '../../transports/http-fallback/homes/session-cluster.ts';
import type { LoopTaps } from '../../watching/loop-taps.ts';
import { stoppingNotice } from '../link/cluster-format.ts';
import type { UsageReports } from './apps.ts';
import type { Transports } from './clients/transports.ts';
import type { LoopEngine } from './engine/engine.ts';
import type { Quotas } from './engine/quotas.ts';
import type { Realtime, RealtimeOptions } from './realtime.ts';
import type { Relays } from './relays.ts';

/** The time for open requests and closing handshakes when the server stops. Milliseconds. */
const STOP_WAIT_MS = 1000;

/** How often it is checked whether all clients have polled. Milliseconds. */
const POLL_MS = 20;

export interface DrainParts
  extends Pick<RealtimeOptions, 'config' | 'links' | 'serverName'>,
    Pick<Transports, 'clients' | 'fallback' | 'health' | 'keepAlive' | 'listeners' | 'sockets'> {
  readonly cluster: Quotas['cluster'];
  readonly connections: Connections;
  /** Stops what is checked regularly while clients are connected. */
  readonly stopChecks: () => void;
}

/** Makes what ends the connections of a loop, and what then ends its listening. */
export function drainOf(parts: DrainParts): Pick<Realtime, 'drain' | 'stopListening'> {
  let timer: NodeJS.Timeout | undefined;
  return {
    async drain() {
      timer = spreadNewcomers(parts);
      await drainClients(parts);
    },
    async stopListening() {
      clearInterval(timer);
      await stopListening(parts);
    },
  };
}

/** Closes all connections over the drain time. Requests are served meanwhile, also over new connections. */
async function drainClients(parts: DrainParts): Promise<void> {
  const { config, links, cluster, connections, fallback, health, keepAlive, sockets } = parts;
  const { drainSeconds } = config;
  const { sessions, cluster: elsewhere } = fallback;
  if (links.index === 0) void cluster?.bus.notify(undefined, stoppingNotice(parts.serverName));
  health.stop();
  sessions.stop();
  sockets.stop();
  keepAlive.stop();
  const sinceMs = performance.now();
  await Promise.all([
    drain(connections, drainSeconds, (connection) => endWith(connection, 'server-stopping')),
    elsewhere && drain(elsewhere, drainSeconds, (outlet) => endVisit(outlet, 'server-stopping')),
  ]);
  // The clients of some sessions learn of it by their next polls.
  const untilMs = Math.max(sinceMs + drainSeconds * 1000, performance.now() + STOP_WAIT_MS);
  while (sessions.closing > 0 && performance.now() < untilMs) await Bun.sleep(POLL_MS);
}

/** Closes clients that connect during the drain, also spread over the drain time. */
function spreadNewcomers({ config, sockets: { newcomers } }: DrainParts): NodeJS.Timeout {
  const endMs = performance.now() + config.drainSeconds * 1000;
  return setInterval(() => {
    const stepsLeft = Math.max(1, (endMs - performance.now()) / DRAIN_STEP_MS);
    newcomers.end(Math.ceil(newcomers.size / stepsLeft));
  }, DRAIN_STEP_MS);
}

/** Answers the requests in progress, then closes the port and the remaining connections. */
async function stopListening(parts: DrainParts): Promise<void> {
  const { fallback, sockets, listeners, clients } = parts;
  parts.stopChecks();
  // The system resets connections that wait to be accepted, and Bun those whose requests it has not read.
  await nextTurn();
  await nextTurn();
  const stopped = listeners.close();
  sockets.newcomers.end(sockets.newcomers.size);
  fallback.cluster?.releasePolls();
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
