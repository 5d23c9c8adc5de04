import type { Load } from './open-loop.ts';
import { Tally } from './tally.ts';

/** More than any server takes to write one round to everybody. */
const ROUND_WRITTEN_MS = 20;
const ROUND_LOST_MS = 2000;

/** How to measure what a load process can receive when nothing else holds it back. */
export interface Ceiling {
  readonly rounds: number;
  /** How many events wait at each connection when it is read. */
  readonly framesPerRead: number;
  readonly dataBytes: number;
}

/**
 * Measures the deliveries per second that this process can take in, as the median of several rounds.
 * In each it publishes, looks away until the server has written everything to every connection, and
 * times only its own reading. One frame per read is the worst case: a reader that falls behind finds
 * several, and gets faster.
 */
export function measureCeiling(load: Load, ceiling: Ceiling): number {
  const { crowd, sockets, eventSource } = load;
  crowd.fill();
  const rates: number[] = [];

  for (let round = 0; round < ceiling.rounds; round += 1) {
    const events = ceiling.framesPerRead;
    const schedule = {
      firstSequence: eventSource.prepare(events, ceiling.dataBytes),
      events,
      firstDueMs: performance.now(),
      intervalMs: 0,
      warmupEvents: 0,
    };
    const tally = new Tally(schedule, Infinity);
    const expected = events * eventSource.copies;
    crowd.tally = tally;
    for (let index = 0; index < events; index += 1) eventSource.send(index);

    // Awake, as it is when it is busy: a core that has slept starts slowly.
    const startMs = performance.now() + ROUND_WRITTEN_MS;
    while (performance.now() < startMs);
    while (tally.delivered < expected) {
      if (performance.now() - startMs > ROUND_LOST_MS) throw new Error('a delivery was lost');
      sockets.poll(1);
    }
    rates.push((expected / (tally.lastArrivalMs - startMs)) * 1000);
  }
  crowd.tally = undefined;
  return rates.sort((a, b) => a - b)[Math.floor(rates.length / 2)] ?? 0;
}
