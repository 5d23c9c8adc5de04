import type { PublishesLeft } from '../../../push/delivering/ports.ts';
import { byPlatform, type Platform, platforms } from '../../../push/model/device.ts';
import { LogThrottle } from '../../../runtime/logging/log-throttle.ts';
import type { Log } from '../../../runtime/ports.ts';

interface Sums extends Record<Platform, number> {
  publishes: number;
}

/** Logs once a minute what gave way in each instance, with all since the line before. */
export class GaveWayLines {
  private readonly log: Pick<Log, 'warn'>;
  private readonly throttle: LogThrottle;
  private readonly sums = new Map<string, Sums>();

  constructor(log: Pick<Log, 'warn'>, clock = { now: () => Date.now() }) {
    this.log = log;
    this.throttle = new LogThrottle(clock);
  }

  add(instance: string, { publishes, devices }: Omit<PublishesLeft, 'instance'>): void {
    const sums = this.sums.get(instance) ?? { publishes: 0, ...byPlatform(() => 0) };
    this.sums.set(instance, sums);
    sums.publishes += publishes;
    for (const platform of platforms) sums[platform] += devices[platform];
    this.throttle.run(instance, () => {
      this.sums.delete(instance);
      this.log.warn('Publishes that waited only for failures gave way to new ones', {
        instance,
        ...sums,
        setting: 'limits.pendingPublishBytes',
      });
    });
  }
}
