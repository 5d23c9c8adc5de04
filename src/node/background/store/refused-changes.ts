import type { TableMeter } from '../../../observability/meter.ts';
import { LogThrottle } from '../../../runtime/logging/log-throttle.ts';
import type { Log } from '../../../runtime/ports.ts';
import type { WriteOwner } from '../../../stores/database/waiting-changes.ts';

export interface RefusedChangesOptions {
  readonly meter: TableMeter;
  readonly log: Log;
  readonly clock: { now(): number };
  /** Finds the id of an instance by its number; `undefined` if it is no longer served. */
  readonly instanceId: (number: number) => string | undefined;
}

/** Counts and logs changes that are refused because too many wait for the store. */
export function refusedChanges({ meter, log, clock, instanceId }: RefusedChangesOptions) {
  const throttle = new LogThrottle(clock);
  return (owner: WriteOwner): void => {
    const kind = typeof owner === 'number' ? 'instance' : (owner ?? 'server');
    meter.count('storeChangesRefused', 1, kind);
    throttle.run(String(owner), (throttled) =>
      log.warn('Store is overloaded: changes refused', {
        owner: kind,
        instance: typeof owner === 'number' ? (instanceId(owner) ?? `number ${owner}`) : undefined,
        ...throttled,
      }),
    );
  };
}
