import type { TransactionSQL } from 'bun';
import type { Platform } from '../../../push/model/device.ts';
import type { PlatformCounts } from '../../../push/model/publish.ts';
import { inPieces } from '../devices/device-rows.ts';

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

/** What is counted of a publish, as it is kept. */
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
    await addTallies(sql, [{ number: publish, tally: this }]);
  }

  /** The rows of what was counted so far; it begins to count anew. */
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

/** Adds what was counted so far of publishes to what is kept of them. */
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
