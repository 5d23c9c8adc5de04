import { type SharedUsage, Usage } from '../../channels/usage/usage.ts';
import type { TableMeter } from '../../observability/meter.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { every } from '../../runtime/time/every.ts';
import { MemoryAppDirectory } from '../../tenants/app-directory.ts';
import { REALTIME_RECORDS } from '../../watching/limits.ts';
import { LoopTaps } from '../../watching/loop-taps.ts';
import type { LoopOptions } from './loop-options.ts';

/** The interval of storing usage. A crash loses at most the usage of this time and one commit. Milliseconds. */
const USAGE_INTERVAL_MS = 500;

export type AppsOptions = Pick<LoopOptions, 'apps' | 'links' | 'timers' | 'toBackground'>;

/** The apps that this loop serves, and the taps of those that are watched. */
export interface LoopApps {
  readonly apps: MemoryAppDirectory;
  readonly taps: LoopTaps;
}

export function openApps({ apps: list, links, timers, toBackground }: AppsOptions): LoopApps {
  const apps = new MemoryAppDirectory();
  apps.replace(list);
  const taps = new LoopTaps({
    setTap: (appId, tap) => apps.setTap(appId, tap),
    timers,
    share: REALTIME_RECORDS,
    loops: links.count,
    send: (ticks) => toBackground({ type: 'tapped', ticks }),
  });
  return { apps, taps };
}

export interface UsageOptions extends Pick<LoopOptions, 'usage' | 'timers' | 'log'> {
  readonly meter: TableMeter;
  /** For a loop that is one of several. */
  readonly shared: SharedUsage | undefined;
}

/** Counts the usage of apps, from that of today before this start. */
export function openUsage({ usage: before, timers, log, meter, shared }: UsageOptions): Usage {
  const usage = new Usage({ clock: timers, log, meter, shared });
  usage.restore(before);
  return usage;
}

/** Sends the usage to the background loop, which stores it. */
export interface UsageReports {
  /** Sends what was not sent yet. */
  send(): void;
  /** Ends the regular sending. */
  stop(): void;
}

export function startUsageReports(
  usage: Usage,
  toBackground: LoopOptions['toBackground'],
): UsageReports {
  const send = () => {
    const unsaved = usage.unsaved();
    if (unsaved.length > 0) toBackground({ type: 'usage', usage: unsaved });
  };
  return { send, stop: every(monotonicTimers, USAGE_INTERVAL_MS, send) };
}
