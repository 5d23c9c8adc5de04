import type { App } from '../../channels/app.ts';
import type { DayUsage } from '../../channels/usage/usage.ts';
import type { Config } from '../../config/schema.ts';
import type { RedisTls } from '../../engines/redis/link/connector.ts';
import type { Certificate } from '../../runtime/certificate.ts';
import type { Log, Timers } from '../../runtime/ports.ts';
import type { LoopLinks } from '../link/loop-links.ts';
import type { LoopTotals } from '../link/loop-totals.ts';
import type { LoopToBackground } from '../link/messages.ts';
import type { MemoryPlan } from '../memory/shares.ts';

/** What the realtime loops of a process are opened with. */
export interface RealtimeOptions {
  readonly config: Config;
  readonly memory: MemoryPlan;
  readonly apps: readonly App[];
  /** Today's usage before this start. */
  readonly usage: readonly DayUsage[];
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
  readonly totals: LoopTotals;
}
