import type { App } from '../../channels/app.ts';
import type { AppDirectory } from '../../channels/ports.ts';
import { UnsharedUsage } from '../../channels/unshared-usage.ts';
import type { SharedUsage, Usage } from '../../channels/usage.ts';
import type { SharedTotal } from '../../runtime/shared-total.ts';
import type { OtherLoops } from '../../transports/clients/connections.ts';
import type { LoopLinks } from '../link/loop-links.ts';
import type { LoopMessage } from '../link/messages.ts';

/** How often loops tell each other what they have taken. Milliseconds. */
const INTERVAL_MS = 100;

type QuotaMessage = Extract<LoopMessage, { type: 'usage' | 'app-connections' }>;

/** Tells the other loops what this one has taken from the quotas and rates of apps, and counts what they have taken. */
export class QuotaExchange implements OtherLoops {
  readonly total: SharedTotal;
  readonly usage: SharedUsage;
  private readonly links: LoopLinks;
  /** By loop, then by app: the connections that count for the quota of the app. */
  private readonly connections: Map<string, number>[];
  /** Apps whose number of connections the other loops must know. */
  private readonly changes = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  /** `total` counts the connections of all loops. */
  constructor(links: LoopLinks, total: SharedTotal) {
    this.links = links;
    this.total = total;
    this.connections = Array.from({ length: links.count }, () => new Map());
    const unshared = new UnsharedUsage({
      loops: links.count,
      shareSoon: () => this.shareUsage(),
    });
    this.usage = { unshared, isFirst: links.index === 0 };
  }

  start(): void {
    this.timer = setInterval(() => this.shareUsage(), INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  countOf(app: App): number {
    let sum = 0;
    for (const ofLoop of this.connections) sum += ofLoop.get(app.id) ?? 0;
    return sum;
  }

  changed(app: App, count: number): void {
    if (this.changes.size === 0) setImmediate(() => this.shareConnections());
    this.changes.set(app.id, count);
  }

  /** Handles a message of another loop. */
  receive(from: number, message: QuotaMessage, { apps, usage }: QuotaParts): void {
    if (message.type === 'usage') {
      for (const taken of message.taken) {
        const app = apps.byId(taken.appId);
        if (app !== undefined) usage.chargeTaken(app, taken);
      }
      return;
    }
    for (const [appId, count] of message.counts) {
      if (count === 0) this.connections[from]?.delete(appId);
      else this.connections[from]?.set(appId, count);
    }
  }

  private shareUsage(): void {
    const taken = this.usage.unshared.take();
    if (taken.length > 0) this.links.sendToAll({ type: 'usage', taken });
  }

  private shareConnections(): void {
    this.links.sendToAll({ type: 'app-connections', counts: [...this.changes] });
    this.changes.clear();
  }
}

interface QuotaParts {
  readonly apps: AppDirectory;
  readonly usage: Usage;
}
