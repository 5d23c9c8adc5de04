import type { CrowdSize } from './load/crowd.ts';

/** A question about fan-out: how many deliveries per second hold a latency. */
export interface FanOut {
  readonly name: string;
  readonly description: string;
  readonly crowd: CrowdSize;
  readonly dataBytes: number;
  /** What the 99th percentile must not exceed, from due to read. */
  readonly p99MsMax: number;
  /** Where the search starts. */
  readonly publishesPerSecond: number;
  /** The share of the floor's figure that Fanfare should reach. */
  readonly ratioMin: number;
}

/** Everything about fan-out that is measured. */
export const fanOuts: readonly FanOut[] = [
  {
    name: 'hot',
    description: '1,000 subscribers of one channel, 200-byte events',
    crowd: { channels: 1, subscribersEach: 1000 },
    dataBytes: 200,
    p99MsMax: 25,
    publishesPerSecond: 200,
    ratioMin: 0.7,
  },
];
