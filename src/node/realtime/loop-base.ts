import type { Config } from '../../config/schema.ts';
import type { RedisTls } from '../../engines/redis/link/connector.ts';
import { TableMeter } from '../../observability/meter.ts';
import { RateLimitedLog } from '../../runtime/logging/rate-limited-log.ts';
import type { Log, Timers } from '../../runtime/ports.ts';
import { SocketMarks } from '../../runtime/shared-memory/socket-marks.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import type { Certificate } from '../../runtime/tls/certificate.ts';
import { TrustedProxies } from '../../runtime/trusted-proxies.ts';
import type { LoopLinks } from '../link/loop-links.ts';
import { type LoopTotals, type OpenTotals, openLoopTotals } from '../link/loop-totals.ts';
import type { LoopToBackground } from '../link/messages.ts';
import type { MemoryPlan } from '../memory/shares.ts';
import { type OpenFiles, readOpenFiles } from '../open-files.ts';
import { type LoopSettings, settingsOfLoop } from './limits.ts';

/** What all realtime loops of a process are opened with. */
export interface RealtimeOptions {
  readonly config: Config;
  readonly memory: MemoryPlan;
  readonly tls: Certificate | undefined;
  /** For the first connections to Redis. */
  readonly redisTls: RedisTls;
  readonly timers: Timers;
  readonly log: Log;
  /** Log lines that were dropped so far. */
  readonly logLinesDropped: () => number;
  /** The name of this server, for operators. */
  readonly serverName: string;
  readonly toBackground: (message: LoopToBackground) => void;
}

/** What one of the loops is opened with. */
export interface LoopOptions extends RealtimeOptions {
  /** Sends to the other realtime loops. */
  readonly links: LoopLinks;
  /** The memory of what all loops count together. */
  readonly countedTogether: LoopTotals;
}

/** What the parts of a loop are opened with. */
export interface LoopBase extends LoopOptions {
  readonly settings: LoopSettings;
  /** The counts of all loops of this process, if there are several. */
  readonly totals: OpenTotals | undefined;
  /** `undefined`: the system does not report its limit. */
  readonly openFiles: OpenFiles | undefined;
  /** The sockets of WebSockets and of held requests. */
  readonly socketsInUse: SocketMarks;
  readonly proxies: TrustedProxies;
  readonly meter: TableMeter;
  readonly rateLimitedLog: RateLimitedLog;
}

export function openBase(options: LoopOptions): LoopBase {
  const { config, memory, links, countedTogether, log } = options;
  return {
    ...options,
    settings: settingsOfLoop(config.channels, memory.shares, links.count),
    totals: links.count > 1 ? openLoopTotals(countedTogether, links.index) : undefined,
    openFiles: readOpenFiles(),
    socketsInUse: new SocketMarks(countedTogether.socketsInUse),
    proxies: TrustedProxies.ofListeners(config.trustedProxies),
    meter: new TableMeter(),
    rateLimitedLog: new RateLimitedLog(log, monotonicTimers),
  };
}
