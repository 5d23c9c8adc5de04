import type { AppDirectory } from '../../../channels/ports.ts';
import { UnsharedUsage } from '../../../channels/usage/unshared-usage.ts';
import type { SharedUsage, Usage } from '../../../channels/usage/usage.ts';
import { partitionOf } from '../../partition.ts';
import type { Partition } from '../partition.ts';
import { AppUsages } from './app-usage.ts';

export interface ClusterUsageParts {
  readonly partitions: readonly Partition[];
  readonly usage: Usage;
  readonly apps: AppDirectory;
}

/** Shares over Redis what all loops take from the quotas and rates of apps. */
export class ClusterUsage {
  readonly shared: SharedUsage;
  private readonly unshared: UnsharedUsage;
  /** By partition. */
  private all: readonly AppUsages[] = [];
  private loops = 1;

  constructor() {
    this.unshared = new UnsharedUsage({
      loops: () => this.loops,
      shareSoon: () => this.shareSoon(),
    });
    // Redis decides which loop logs a warning.
    this.shared = { unshared: this.unshared, warns: false, isFirst: false };
  }

  start({ partitions, usage, apps }: ClusterUsageParts): void {
    const loop = crypto.randomUUID();
    this.all = partitions.map(
      (partition) =>
        new AppUsages({
          partition,
          loop,
          usage,
          apps,
          collect: () => void this.collect(),
          onLoops: (loops) => {
            this.loops = Math.max(1, loops);
          },
        }),
    );
  }

  /** States what was taken, and learns what others have taken from the quotas of the same apps. */
  async share(): Promise<void> {
    this.collect();
    await Promise.all(this.all.map((usages) => usages.shareAll()));
  }

  /** Forgets a deleted app. */
  forget(appId: string): void {
    // What was taken of it is for nobody.
    this.collect();
    this.all[partitionOf({ id: appId }, '')]?.forget(appId);
  }

  private shareSoon(): void {
    for (const usages of this.collect()) usages.shareSoon();
  }

  /** Passes on to the partitions what was taken, and returns these partitions. */
  private collect(): ReadonlySet<AppUsages> {
    const touched = new Set<AppUsages>();
    if (this.all.length === 0) return touched;
    for (const taken of this.unshared.take()) {
      const usages = this.all[partitionOf({ id: taken.appId }, '')];
      usages?.add(taken);
      if (usages !== undefined) touched.add(usages);
    }
    return touched;
  }
}
