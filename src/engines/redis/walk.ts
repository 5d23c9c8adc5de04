import type { ChannelText } from '../../channels/channel-name.ts';
import type {
  ChannelCounts,
  ChannelPage,
  ChannelQuery,
  ChannelWalk,
} from '../../channels/ports.ts';

/** Occupied channels of one partition. */
export interface PartitionPage {
  readonly rows: readonly {
    readonly name: ChannelText;
    readonly counts: ChannelCounts;
    readonly position: number;
  }[];
  /** Where the list continues; `undefined` at the end. */
  readonly next: number | undefined;
}

/** Returns channels of one partition after a position; 0 begins with the first. */
export type PageOf = (partition: number, after: number, limit: number) => Promise<PartitionPage>;

/** The number of partitions asked concurrently, since most apps have few channels in each. */
const ASKED_AT_ONCE = 8;

/**
 * A walk through the channels, one partition after the other. A position is a single number, as with one loop: modulo
 * the number of partitions it names the partition, and the quotient is the position there.
 */
export class RedisWalk implements ChannelWalk {
  private readonly partitions: number;
  private readonly pageOf: PageOf;
  private partition: number;
  private position: number;

  constructor(partitions: number, { after = '0' }: Pick<ChannelQuery, 'after'>, pageOf: PageOf) {
    this.partitions = partitions;
    this.pageOf = pageOf;
    this.partition = Number(after) % partitions;
    this.position = Math.floor(Number(after) / partitions);
  }

  async page(limit: number): Promise<ChannelPage> {
    const first = this.partition;
    const asked = Math.min(ASKED_AT_ONCE, this.partitions - first);
    const answers = await Promise.all(
      Array.from({ length: asked }, (_, n) =>
        this.pageOf(first + n, n === 0 ? this.position : 0, limit),
      ),
    );
    const channels: (readonly [ChannelText, ChannelCounts])[] = [];
    for (const { rows, next } of answers) {
      const fits = rows.slice(0, limit - channels.length);
      channels.push(...fits.map(({ name, counts }) => [name, counts] as const));
      const isCut = fits.length < rows.length;
      if (isCut || next !== undefined) {
        this.position = isCut ? (fits.at(-1)?.position ?? this.position) : (next ?? 0);
        return { channels, next: this.next };
      }
      this.partition++;
      this.position = 0;
    }
    return { channels, next: this.partition < this.partitions ? this.next : undefined };
  }

  private get next(): string {
    return String(this.position * this.partitions + this.partition);
  }
}
