import type { App } from '../../channels/app.ts';
import { type DayUsage, type SharedUsage, Usage } from '../../channels/usage/usage.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { every } from '../../runtime/time/every.ts';
import { MemoryAppDirectory } from '../../tenants/app-directory.ts';
import { REALTIME_RECORDS } from '../../watching/limits.ts';
import { LoopTaps } from '../../watching/loop-taps.ts';
import type { LoopBase } from './loop-base.ts';

/** The interval of storing usage. A crash loses at most the usage of this time and one commit. Milliseconds. */
const USAGE_INTERVAL_MS = 500;

/** The apps that this loop serves, and the taps of those that are watched. */
export interface LoopApps {
  readonly apps: MemoryAppDirectory;
  readonly taps: LoopTaps;
}

export function openApps(
  { links, timers, toBackground }: LoopBase,
  list: readonly App[],
): LoopApps {
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

/** Counts the usage of apps, from that of today before this start. `shared`: for a loop that is one of several. */
export function openUsage(
  { timers, log, meter }: LoopBase,
  before: readonly DayUsage[],
  shared: SharedUsage | undefined,
): Usage {
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
  toBackground: LoopBase['toBackground'],
): UsageReports {
  const send = () => {
    const unsaved = usage.unsaved();
    if (unsaved.length > 0) toBackground({ type: 'usage', usage: unsaved });
  };
  return { send, stop: every(monotonicTimers, USAGE_INTERVAL_MS, send) };
}
