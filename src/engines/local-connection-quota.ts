import type { App } from '../channels/app.ts';
import type { ConnectionQuota } from '../channels/ports.ts';
import type { SharedCounts } from '../runtime/shared-memory/shared-counts.ts';

/** Counts connections for the loops of one process. Answers synchronously. */
export class LocalConnectionQuota implements ConnectionQuota {
  private readonly taken = new Map<App, number>();
  private readonly shared: SharedCounts | undefined;

  /** `shared`: the counts of all loops together, if there are several. */
  constructor(shared?: SharedCounts) {
    this.shared = shared;
  }

  take(app: App): boolean {
    const { connections } = app.limits;
    if (connections > 0 && this.countOf(app) >= connections) return false;
    this.add(app, 1);
    return true;
  }

  release(app: App): void {
    this.add(app, -1);
  }

  private countOf(app: App): number {
    return this.shared?.of(app.id) ?? this.countedHere(app);
  }

  private countedHere(app: App): number {
    return this.taken.get(app) ?? 0;
  }

  private add(app: App, by: number): void {
    const count = this.countedHere(app) + by;
    if (count === 0) this.taken.delete(app);
    else this.taken.set(app, count);
    this.shared?.add(app.id, by);
  }
}
