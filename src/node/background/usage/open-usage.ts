import type { Admin } from '../../../admin/admin.ts';
import type { DayUsage } from '../../../channels/usage/usage.ts';
import { monotonicTimers, systemTimers } from '../../../runtime/system-timers.ts';
import { HourUsageStore } from '../../../stores/tenants/hour-usage-store.ts';
import { UsageStore } from '../../../stores/tenants/usage-store.ts';
import type { BackgroundBase } from '../base.ts';
import { addedUp, HourlyUsage } from './hourly-usage.ts';
import { UsageWriter } from './usage-writer.ts';

/** The usage of apps, by the day and by the hour. */
export interface UsagePart extends AsyncDisposable {
  /** Today's usage on all servers. */
  today(): Promise<readonly DayUsage[]>;
  /** Adds the usage that a realtime loop has counted. */
  keep(usage: readonly DayUsage[]): void;
  /** Forgets what was not written yet of deleted apps. */
  forget(appIds: readonly string[]): void;
  /** Starts counting connections. The realtime loops must be able to answer. */
  start(): void;
  readonly shown: Admin['usage'];
}

export function openUsage(base: BackgroundBase): UsagePart {
  const { database, health, realtime, log } = base;
  const parts = new AsyncDisposableStack();
  const store = new UsageStore(database);
  const daily = parts.use(
    new UsageWriter({
      store,
      timers: monotonicTimers,
      log,
      storeState: health.reporter('usage'),
    }),
  );
  const hourly = parts.use(
    new HourlyUsage({
      store: new HourUsageStore(database),
      countConnections: async () => addedUp(await realtime.askAll('open-connections', {})),
      timers: systemTimers,
      monotonic: monotonicTimers,
      log,
    }),
  );
  return {
    today: () => daily.today(),
    keep(usage) {
      daily.keep(usage);
      hourly.keep(usage);
    },
    forget(appIds) {
      daily.forget(appIds);
      hourly.forget(appIds);
    },
    start: () => hourly.start(),
    shown: {
      ofApp: (appId, days) => store.ofApp(appId, days),
      hoursOfApp: (appId, hours) => hourly.ofApp(appId, hours),
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}
