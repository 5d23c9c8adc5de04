import type { ChannelText } from '../../channels/channel-name.ts';
import type {
  ChannelCounts,
  ChannelPage,
  ChannelQuery,
  ChannelWalk,
} from '../../channels/ports.ts';

type Row = readonly [name: ChannelText, counts: ChannelCounts];

/** Returns the channels of one partition after a name, in alphabetical order; `''` begins with the first. */
export type RowsOf = (partition: number, after: string, limit: number) => Promise<readonly Row[]>;

/** Partitions that are asked at the same time, since most apps have few channels in each. */
const ASKED_AT_ONCE = 8;

/** A walk through the channels of one partition after the other. A position is the number of the partition, and a name in it. */
export class RedisWalk implements ChannelWalk {
  private readonly partitions: number;
  private readonly rowsOf: RowsOf;
  private partition: number;
  private after: string;

  constructor(partitions: number, { after = '0:' }: Pick<ChannelQuery, 'after'>, rowsOf: RowsOf) {
    this.partitions = partitions;
    this.rowsOf = rowsOf;
    const colon = after.indexOf(':');
    this.partition = Number(after.slice(0, colon));
    this.after = after.slice(colon + 1);
  }

  async page(limit: number): Promise<ChannelPage> {
    const first = this.partition;
    if (!(first >= 0 && first < this.partitions)) return { channels: [], next: undefined };
    const asked = Math.min(ASKED_AT_ONCE, this.partitions - first);
    const answers = await Promise.all(
      Array.from({ length: asked }, (_, n) =>
        // One more than fits, to know whether there are more.
        this.rowsOf(first + n, n === 0 ? this.after : '', limit + 1),
      ),
    );
    const channels: Row[] = [];
    for (const rows of answers) {
      const fits = rows.slice(0, limit - channels.length);
      channels.push(...fits);
      if (fits.length < rows.length) {
        this.after = fits.at(-1)?.[0] ?? this.after;
        return { channels, next: `${this.partition}:${this.after}` };
      }
      this.partition++;
      this.after = '';
    }
    const isLast = this.partition === this.partitions;
    return { channels, next: isLast ? undefined : `${this.partition}:` };
  }
}
