import { LoopDelay } from '../../observability/loop-delay.ts';
import { TableMeter } from '../../observability/meter.ts';
import { RateLimitedLog } from '../../runtime/logging/rate-limited-log.ts';
import { SocketMarks } from '../../runtime/shared-memory/socket-marks.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { TrustedProxies } from '../../runtime/trusted-proxies.ts';
import { openLoopTotals } from '../link/loop-totals.ts';
import { readOpenFiles } from '../open-files.ts';
import { openApps, openUsage } from './apps.ts';
import { openAudience } from './clients/audience.ts';
import { openTransports, type Transports } from './clients/transports.ts';
import { openCore, restoreHistories } from './engine/core.ts';
import { openQuotas } from './engine/quotas.ts';
import { settingsOfLoop } from './limits.ts';
import { openFigures } from './open-figures.ts';
import type { Realtime, RealtimeOptions } from './realtime.ts';
import { openRelays } from './relays.ts';
import { runLoop } from './running.ts';

/** Opens a realtime loop, which can then answer other loops. It starts to listen in a separate call. */
export function openRealtime({ histories, ...options }: RealtimeOptions): Realtime {
  const { config, memory, links, log } = options;
  const settings = settingsOfLoop(config.channels, memory.shares, links.count);
  const totals = links.count > 1 ? openLoopTotals(options.totals, links.index) : undefined;
  const meter = new TableMeter();
  const loopDelay = new LoopDelay();
  const rateLimitedLog = new RateLimitedLog(log, monotonicTimers);
  const openFiles = readOpenFiles();
  const socketsInUse = new SocketMarks(options.totals.socketsInUse);
  const proxies = TrustedProxies.ofListeners(config.trustedProxies);

  const { apps, taps } = openApps(options);
  const audience = openAudience({ settings, memory, openFiles, totals, meter });
  const { connections, slowConsumers } = audience;
  const quotas = openQuotas({ ...options, connections, totals });
  const { cluster } = quotas;
  const usage = openUsage({ ...options, shared: quotas.usage, meter });
  const relays = openRelays({ ...options, totals, meter, rateLimitedLog });
  const core = openCore({
    ...options,
    settings,
    cluster,
    apps,
    usage,
    relays,
    audience: audience.audience,
    turns: audience.turns,
    totals,
    rateLimitedLog,
    meter,
    clients: () => transports.clients,
  });
  restoreHistories(histories, { engine: core.engine, log });
  const transports: Transports = openTransports({
    ...options,
    settings,
    hub: core.hub,
    apps,
    audience,
    quotas,
    totals,
    socketsInUse,
    proxies,
    meter,
  });
  const shared = { ...options, ...core, cluster, apps, usage, connections };
  const figures = openFigures({ ...shared, slowConsumers, transports, meter, loopDelay });
  return runLoop({
    ...shared,
    ...transports,
    problems: core.hub.problems,
    settings,
    openFiles,
    socketsInUse,
    proxies,
    taps,
    relays,
    exchange: quotas.exchange,
    slowConsumers,
    figures,
    meter,
    loopDelay,
  });
}
