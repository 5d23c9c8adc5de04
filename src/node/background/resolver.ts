import { createSystemLookup } from '../../outgoing/name-servers.ts';
import { Resolver } from '../../outgoing/resolve.ts';
import { SystemNames } from '../../outgoing/system-names.ts';
import { LogThrottle } from '../../runtime/logging/log-throttle.ts';
import type { Log } from '../../runtime/ports.ts';
import { monotonicTimers, systemTimers } from '../../runtime/system-timers.ts';

/** Opens the resolver for all host names that tenants choose. Its limits hold for the whole process. */
export function openResolver(log: Log): Resolver {
  const throttle = new LogThrottle(systemTimers);
  const names = new SystemNames({ now: monotonicTimers.now });
  return new Resolver({
    lookup: createSystemLookup({ names }),
    timers: monotonicTimers,
    onRefused(owner) {
      throttle.run(owner, (throttled) =>
        log.warn('Name lookups refused: too many at once', { owner, ...throttled }),
      );
    },
  });
}
