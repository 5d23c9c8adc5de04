import type { TransactionSQL } from 'bun';
import type { Platform } from '../../../push/model/device.ts';
import { NO_COUNTS, type PlatformCounts } from '../../../push/model/publish.ts';
import { inPieces } from '../../database/rows.ts';

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

/** The stored counts of publishes. */
interface CountedRows {
  readonly outcomes: readonly (Record<CountName, number> & {
    readonly publish: number;
    readonly platform: Platform;
  })[];
  readonly reasons: readonly {
    readonly publish: number;
    readonly platform: Platform;
    readonly reason: string;
    readonly devices: number;
  }[];
}

/** Changes that a commit makes to the counts of a publish. */
export class Tally {
  private readonly counts = new Map<Platform, Record<CountName, number>>();
  private readonly reasons = new Map<Platform, Map<string, number>>();

  count(platform: Platform, name: CountName, devices: number): void {
    if (devices === 0) return;
    const counts = this.counts.get(platform) ?? { ...NO_COUNTS };
    counts[name] += devices;
    this.counts.set(platform, counts);
  }

  /** Counts devices that will not get the publish, by reason. */
  countReason(platform: Platform, reason: string, devices: number): void {
    if (devices === 0) return;
    const reasons = this.reasons.get(platform) ?? new Map<string, number>();
    reasons.set(reason, (reasons.get(reason) ?? 0) + devices);
    this.reasons.set(platform, reasons);
  }

  /** Returns the changes so far, and starts again from 0. */
  taken(publish: number): CountedRows {
    const outcomes = [...this.counts].map(([platform, counts]) => ({
      publish,
      platform,
      ...counts,
    }));
    const reasons = [...this.reasons].flatMap(([platform, ofPlatform]) =>
      [...ofPlatform].map(([reason, devices]) => ({ publish, platform, reason, devices })),
    );
    this.counts.clear();
    this.reasons.clear();
    return { outcomes, reasons };
  }
}

/** Writes the changes so far of several publishes. */
export async function addTallies(
  sql: TransactionSQL,
  publishes: readonly { readonly number: number; readonly tally: Tally }[],
): Promise<void> {
  const counted = publishes.map(({ number, tally }) => tally.taken(number));
  for (const some of inPieces(counted.flatMap(({ outcomes }) => outcomes))) {
    await sql`INSERT INTO publish_outcomes ${sql(some)}
      ON CONFLICT (publish, platform) DO UPDATE SET
        planned = publish_outcomes.planned + excluded.planned,
        accepted = publish_outcomes.accepted + excluded.accepted,
        retrying = publish_outcomes.retrying + excluded.retrying,
        failed = publish_outcomes.failed + excluded.failed,
        pruned = publish_outcomes.pruned + excluded.pruned,
        expired = publish_outcomes.expired + excluded.expired,
        cancelled = publish_outcomes.cancelled + excluded.cancelled`;
  }
  for (const some of inPieces(counted.flatMap(({ reasons }) => reasons))) {
    await sql`INSERT INTO publish_reasons ${sql(some)}
      ON CONFLICT (publish, platform, reason) DO UPDATE SET
        devices = publish_reasons.devices + excluded.devices`;
  }
}
