import type { AppDirectory } from '../../../channels/ports.ts';
import { UnsharedUsage } from '../../../channels/usage/unshared-usage.ts';
import type { SharedUsage, Usage } from '../../../channels/usage/usage.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import { every } from '../../../runtime/time/every.ts';
import type { LoopLinks } from '../../link/loop-links.ts';
import type { UsageMessage } from '../../link/messages.ts';

/** How often loops exchange what they have taken. Milliseconds. */
const INTERVAL_MS = 100;

/**
 * Reports to the other loops what this loop has taken from the quotas and rates of apps, and counts what the others
 * have taken.
 */
export class QuotaExchange {
  readonly usage: SharedUsage;
  private readonly links: LoopLinks;
  private stopSharing: (() => void) | undefined;

  constructor(links: LoopLinks) {
    this.links = links;
    const unshared = new UnsharedUsage({
      loops: () => links.count,
      shareSoon: () => this.shareUsage(),
    });
    const isFirst = links.index === 0;
    this.usage = { unshared, warns: isFirst, isFirst };
  }

  start(): void {
    this.stopSharing = every(monotonicTimers, INTERVAL_MS, () => this.shareUsage());
  }

  stop(): void {
    this.stopSharing?.();
  }

  /** Handles a message of another loop. */
  receive(message: UsageMessage, apps: AppDirectory, usage: Usage): void {
    for (const taken of message.taken) {
      const app = apps.byId(taken.appId);
      if (app !== undefined) usage.chargeTaken(app, taken);
    }
  }

  private shareUsage(): void {
    const taken = this.usage.unshared.take();
    if (taken.length > 0) this.links.sendToAll({ type: 'usage', taken });
  }
}
