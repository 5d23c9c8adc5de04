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

/** The time that clients between two polls have to learn of the stop, out of the drain time. Milliseconds. */
const LAST_POLLS_MS = 1000;

/** How often it is checked whether all clients have polled. Milliseconds. */
const POLL_MS = 20;

/** The time for open requests, and then for closing handshakes. Milliseconds. */
const LAST_ANSWERS_MS = 300;
const HANDSHAKES_MS = 100;

/** The time for Redis, and for the background loop, when a loop hands over its state. Milliseconds. */
const HAND_OVER_MS = 100;

/** The time to tell clients why their sockets close: the first of them come back in a second. Milliseconds. */
const DISMISS_MS = 250;

/** Connections that are retired in one turn of the loop. That takes a few milliseconds. */
const RETIRED_PER_TURN = 1_000;

export interface DrainParts
  extends Pick<RealtimeOptions, 'config' | 'links' | 'serverName'>,
    Pick<
      Transports,
      'api' | 'clients' | 'fallback' | 'health' | 'keepAlive' | 'listeners' | 'sockets'
    > {
  readonly cluster: Quotas['cluster'];
  readonly connections: Connections;
  /** Stops what is checked regularly while clients are connected. */
  readonly stopChecks: () => void;
}

/** Makes what ends the connections of a loop, and its listening. */
export function drainOf(
  parts: DrainParts,
): Pick<Realtime, 'isAlone' | 'drain' | 'stopListening' | 'retire' | 'dismiss'> {
  let timer: NodeJS.Timeout | undefined;
  return {
    async isAlone() {
      const { cluster, serverName } = parts;
      return (
        cluster === undefined ||
        (await cluster.bus.notify(undefined, stoppingNotice(serverName))) === 0
      );
    },
    async drain() {
      timer = spreadNewcomers(parts);
      await drainClients(parts);
    },
    async stopListening() {
      clearInterval(timer);
      await stopListening(parts);
    },
    retire: () => retireClients(parts),
    dismiss: () => dismissClients(parts),
  };
}

/** Closes all connections over the drain time. Requests are served meanwhile, also over new connections. */
async function drainClients(parts: DrainParts): Promise<void> {
  const { config, connections, fallback, health, keepAlive, sockets } = parts;
  const drainMs = config.drainSeconds * 1000;
  const { sessions, cluster: elsewhere } = fallback;
  health.stop();
  sessions.stop();
  sockets.stop('server-stopping');
  keepAlive.stop();
  const untilMs = performance.now() + Math.max(drainMs, LAST_POLLS_MS);
  const closingMs = drainMs - LAST_POLLS_MS;
  await Promise.all([
    drain(connections, closingMs, (connection) => endWith(connection, 'server-stopping')),
    elsewhere && drain(elsewhere, closingMs, (outlet) => endVisit(outlet, 'server-stopping')),
  ]);
  // The clients of some sessions learn of it by their next polls.
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
  const { fallback, sockets, listeners } = parts;
  parts.stopChecks();
  // The system resets connections that wait to be accepted, and Bun those whose requests it has not read.
  await nextTurn();
  await nextTurn();
  const stopped = listeners.close();
  sockets.newcomers.end(sockets.newcomers.size);
  fallback.cluster?.releasePolls();
  // Limited, because a client may keep its end half open forever.
  await withTimeout(LAST_ANSWERS_MS, stopped);
  await withTimeout(HANDSHAKES_MS, listeners.end());
}

/** Lets all connections end for everybody but their clients, whose sockets stay open. New ones are kept waiting. */
async function retireClients(parts: DrainParts): Promise<void> {
  const { api, connections, fallback, health, keepAlive, listeners, sockets } = parts;
  parts.stopChecks();
  health.stop();
  keepAlive.stop();
  fallback.sessions.stop();
  sockets.stop('server-restarting');
  api.stop();
  // Without this, each client would be told that the others leave.
  listeners.mute();
  let retired = 0;
  for (const connection of connections.all()) {
    if (!sockets.retire(connection)) endWith(connection, 'server-restarting');
    retired++;
    if (retired % RETIRED_PER_TURN === 0) await nextTurn();
  }
  // In this turn, messages arrive that other loops sent before they did the same.
  await nextTurn();
}

/** Closes all sockets and the port. Waits for nothing: the system sends what was written, also when the process ends. */
function dismissClients({ fallback, sockets, listeners }: DrainParts): void {
  sockets.endRetired(DISMISS_MS);
  sockets.newcomers.end(sockets.newcomers.size);
  fallback.cluster?.releasePolls();
  void listeners.close();
}

export interface CloseParts
  extends Pick<RealtimeOptions, 'links' | 'toBackground'>,
    Pick<Transports, 'clients'> {
  readonly taps: LoopTaps;
  readonly usageReports: UsageReports;
  readonly exchange: Quotas['exchange'];
  readonly relays: Relays;
  readonly engine: LoopEngine;
  readonly loopDelay: LoopDelay;
}

/** Makes what closes a drained loop, and what it must be notified of meanwhile. */
export function closingOf(parts: CloseParts): Pick<Realtime, 'goodbyeReceived' | 'close'> {
  const goodbye = Promise.withResolvers<void>();
  return {
    goodbyeReceived: () => goodbye.resolve(),
    close: (departuresMs) => closeLoop(parts, departuresMs, goodbye.promise),
  };
}

async function closeLoop(
  parts: CloseParts,
  departuresMs: number,
  goodbye: Promise<void>,
): Promise<void> {
  const { links, clients, taps, usageReports, exchange, relays, engine } = parts;
  const { loopDelay, toBackground } = parts;
  // First, because a stop may be cut short.
  const saved = engine.saveHistories();
  if (saved !== undefined) toBackground({ type: 'histories', saved });
  await withTimeout(departuresMs, clients.departures.done());
  // Last, so that no webhook events and no usage are lost.
  taps.stop();
  usageReports.stop();
  exchange?.stop();
  relays.webhooks.flush();
  // Limited, because Redis may be away.
  await withTimeout(HAND_OVER_MS, engine.close());
  relays.webhooks.flush();
  usageReports.send();
  if (links.index !== 0) {
    // The main thread stops the background loop, and only its own messages are sure to arrive before that.
    toBackground({ type: 'goodbye' });
    await withTimeout(HAND_OVER_MS, goodbye);
  }
  loopDelay[Symbol.dispose]();
  links[Symbol.dispose]();
}
