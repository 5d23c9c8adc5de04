import { setImmediate as nextTurn } from 'node:timers/promises';
import { monotonicTimers, withTimeout } from '../../../runtime/system-timers.ts';
import { every } from '../../../runtime/time/every.ts';
import { pause } from '../../../runtime/time/pause.ts';
import { DRAIN_STEP_MS, drain } from '../../../transports/clients/closing/drain.ts';
import { endWith } from '../../../transports/clients/closing/end.ts';
import type { ClientConnections } from '../../../transports/clients/connections.ts';
import { endVisit } from '../../../transports/http-fallback/homes/session-cluster.ts';
import type { Transports } from './transports.ts';

/** The time that clients between two polls have to learn of the stop, out of the drain time. Milliseconds. */
const LAST_POLLS_MS = 1000;

/** How often it is checked whether all clients have polled. Milliseconds. */
const POLL_MS = 20;

/** The time for open requests, and then for closing handshakes. Milliseconds. */
const LAST_ANSWERS_MS = 300;
const HANDSHAKES_MS = 100;

/** The time to tell clients why their sockets close: the first of them come back in a second. Milliseconds. */
const DISMISS_MS = 250;

/** Connections that are retired in one turn of the loop. That takes a few milliseconds. */
const RETIRED_PER_TURN = 1_000;

export interface ClientShutdownOptions {
  readonly drainSeconds: number;
  readonly connections: ClientConnections;
  readonly transports: Transports;
  /** Stops what is checked regularly while clients are connected. */
  readonly stopChecks: () => void;
}

/** Ends the connections of a loop, and its listening. */
export class ClientShutdown {
  private readonly options: ClientShutdownOptions;
  private stopSpreading: (() => void) | undefined;

  constructor(options: ClientShutdownOptions) {
    this.options = options;
  }

  /** Closes all connections over the drain time. Requests are served meanwhile, also over new connections. */
  async drain(): Promise<void> {
    this.spreadNewcomers();
    const { connections, transports } = this.options;
    const { fallback, health, keepAlive, sockets, streams } = transports;
    const { sessions, cluster: elsewhere } = fallback;
    const drainMs = this.options.drainSeconds * 1000;
    health.stop();
    sessions.stop();
    streams.stop();
    sockets.stop('server-stopping');
    keepAlive.stop();
    const untilMs = performance.now() + Math.max(drainMs, LAST_POLLS_MS);
    const closingMs = drainMs - LAST_POLLS_MS;
    await Promise.all([
      drain(connections, closingMs, (connection) => endWith(connection, 'server-stopping')),
      elsewhere && drain(elsewhere, closingMs, (outlet) => endVisit(outlet, 'server-stopping')),
    ]);
    // The clients of some sessions learn of it by their next polls.
    while (sessions.closing > 0 && performance.now() < untilMs)
      await pause(monotonicTimers, POLL_MS);
  }

  /** Answers the requests in progress, then closes the port and the remaining connections. */
  async stopListening(): Promise<void> {
    this.stopSpreading?.();
    const { transports, stopChecks } = this.options;
    const { fallback, sockets, listeners } = transports;
    stopChecks();
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
  async retire(): Promise<void> {
    const { connections, transports, stopChecks } = this.options;
    const { api, fallback, health, keepAlive, listeners, sockets, streams } = transports;
    stopChecks();
    health.stop();
    keepAlive.stop();
    fallback.sessions.stop();
    streams.stop();
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
  dismiss(): void {
    const { fallback, sockets, listeners } = this.options.transports;
    sockets.endRetired(DISMISS_MS);
    sockets.newcomers.end(sockets.newcomers.size);
    fallback.cluster?.releasePolls();
    void listeners.close();
  }

  /** Closes clients that connect during the drain, also spread over the drain time. */
  private spreadNewcomers(): void {
    const { newcomers } = this.options.transports.sockets;
    const endMs = performance.now() + this.options.drainSeconds * 1000;
    this.stopSpreading = every(monotonicTimers, DRAIN_STEP_MS, () => {
      const stepsLeft = Math.max(1, (endMs - performance.now()) / DRAIN_STEP_MS);
      newcomers.end(Math.ceil(newcomers.size / stepsLeft));
    });
  }
}
