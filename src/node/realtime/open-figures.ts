import type { Hub } from '../../channels/hub.ts';
import type { Usage } from '../../channels/usage/usage.ts';
import type { LoopDelay } from '../../observability/loop-delay.ts';
import type { TableMeter } from '../../observability/meter.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import type { MemoryAppDirectory } from '../../tenants/app-directory.ts';
import type { Connections } from '../../transports/clients/connections.ts';
import type { SlowConsumers } from '../../transports/clients/frames/slow-consumers.ts';
import { Inspector } from '../../transports/clients/inspector.ts';
import { loopName } from '../link/loop-name.ts';
import type { Transports } from './clients/transports.ts';
import type { LoopEngine } from './engine/engine.ts';
import type { LiveLoop } from './engine/live-loop.ts';
import type { Quotas } from './engine/quotas.ts';
import { Figures } from './figures.ts';
import type { RealtimeOptions } from './realtime.ts';

export interface OpenFiguresOptions
  extends Pick<RealtimeOptions, 'links' | 'timers' | 'serverName' | 'logLinesDropped' | 'memory'> {
  readonly hub: Hub;
  readonly engine: LoopEngine;
  readonly live: LiveLoop;
  readonly cluster: Quotas['cluster'];
  readonly apps: MemoryAppDirectory;
  readonly usage: Usage;
  readonly connections: Connections;
  readonly slowConsumers: SlowConsumers;
  readonly transports: Pick<Transports, 'clients' | 'fallback' | 'api' | 'unread' | 'bodies'>;
  readonly meter: TableMeter;
  readonly loopDelay: LoopDelay;
}

/** Opens what answers the questions of the background loop. */
export function openFigures(options: OpenFiguresOptions): Figures {
  const { links, timers, hub, engine, cluster, connections, transports } = options;
  const { clients, fallback, api, unread, bodies } = transports;
  return new Figures({
    loopName: loopName(links.index),
    apps: options.apps,
    connections,
    sessions: fallback.sessions,
    authority: engine.authority,
    counter: engine.counter,
    api,
    unread,
    bodies,
    channels: hub.channels,
    slowConsumers: options.slowConsumers,
    unitCosts: options.memory.unitCosts,
    live: options.live.openAsks(hub),
    problems: hub.problems,
    inspector: new Inspector({
      connections,
      sessions: hub.sessions,
      libraries: clients.libraries,
      clock: timers,
      monotonic: monotonicTimers,
    }),
    cluster: cluster?.quotas,
    bus: cluster?.bus,
    serverName: options.serverName,
    isFirst: links.index === 0,
    engineFigures: () => engine.figures(),
    usage: options.usage,
    meter: options.meter,
    loopDelay: options.loopDelay,
    logLinesDropped: options.logLinesDropped,
  });
}
