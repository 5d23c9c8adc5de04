import type { TransactionSQL } from 'bun';
import type { Platform } from '../../push/device.ts';
import type { PlatformCounts } from '../../push/publish.ts';
import { inPieces } from './device-rows.ts';

export type CountName = keyof PlatformCounts;

export const countNames: readonly CountName[] = [
  'planned',
  'accepted',
  'retrying',
  'failed',
  'pruned',
  'expired',
  'cancelled',
];

/** What a commit adds to the counts of a publish, or takes from them. */
export class Tally {
  private readonly counts = new Map<Platform, Record<CountName, number>>();
  private readonly reasons = new Map<Platform, Map<string, number>>();

  count(platform: Platform, name: CountName, devices: number): void {
    if (devices === 0) return;
    const counts = this.counts.get(platform) ?? {
      planned: 0,
      accepted: 0,
      retrying: 0,
      failed: 0,
      pruned: 0,
      expired: 0,
      cancelled: 0,
    };
    counts[name] += devices;
    this.counts.set(platform, counts);
  }

  /** Counts devices that will not get it, by the reason. */
  countReason(platform: Platform, reason: string, devices: number): void {
    if (devices === 0) return;
    const reasons = this.reasons.get(platform) ?? new Map<string, number>();
    reasons.set(reason, (reasons.get(reason) ?? 0) + devices);
    this.reasons.set(platform, reasons);
  }

  /** Adds what was counted so far to what is kept of the publish. */
  async add(sql: TransactionSQL, publish: number): Promise<void> {
    const outcomes = [...this.counts].map(([platform, counts]) => ({
      publish,
      platform,
      ...counts,
    }));
    if (outcomes.length > 0) {
      await sql`INSERT INTO publish_outcomes ${sql(outcomes)}
        ON CONFLICT (publish, platform) DO UPDATE SET
          planned = publish_outcomes.planned + excluded.planned,
          accepted = publish_outcomes.accepted + excluded.accepted,
          retrying = publish_outcomes.retrying + excluded.retrying,
          failed = publish_outcomes.failed + excluded.failed,
          pruned = publish_outcomes.pruned + excluded.pruned,
          expired = publish_outcomes.expired + excluded.expired,
          cancelled = publish_outcomes.cancelled + excluded.cancelled`;
    }
    const reasons = [...this.reasons].flatMap(([platform, ofPlatform]) =>
      [...ofPlatform].map(([reason, devices]) => ({ publish, platform, reason, devices })),
    );
    this.counts.clear();
    this.reasons.clear();
    for (const some of inPieces(reasons)) {
      await sql`INSERT INTO publish_reasons ${sql(some)}
        ON CONFLICT (publish, platform, reason) DO UPDATE SET
          devices = publish_reasons.devices + excluded.devices`;
    }
  }
}
