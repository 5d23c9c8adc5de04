import { EngineUnavailable } from '../../channels/engine-failure.ts';
import { mapAll } from '../../channels/maybe-promise.ts';
import type { Timers } from '../../runtime/ports.ts';
import { pause } from '../../runtime/time/pause.ts';
import type { EngineMeter } from '../engine-meter.ts';
import type { Follows } from './follows.ts';
import type { Partition } from './partition.ts';

/** The minimum time that a join or a sign-in waits for Redis. */
const JOIN_WAIT_MS = 30_000;
/**
 * Joins that began at the same moment fail at random moments within this time, so that their clients do not all
 * reconnect at once.
 */
const JOIN_WAIT_SPREAD_MS = 10_000;
/** The pause after a statement failed although Redis could be reached. */
const RETRY_MS = 250;

export interface PersistOptions<T> {
  readonly timers: Timers;
  readonly meter: EngineMeter;
  readonly follows: Follows;
  readonly partition: Partition;
  readonly streams: readonly string[];
  readonly ask: () => Promise<T>;
}

/** Follows streams and then asks Redis. Repeats this until Redis answers, or 30 to 40 s have passed. */
export async function persist<T>(options: PersistOptions<T>): Promise<T> {
  const { timers, meter, follows, partition, streams, ask } = options;
  const untilMs = timers.now() + JOIN_WAIT_MS + Math.random() * JOIN_WAIT_SPREAD_MS;
  try {
    for (;;) {
      const following = mapAll(streams, (stream) => follows.follow(stream));
      if (following instanceof Promise) await notLater(following, untilMs, timers);
      const waiting = partition.whenReady(untilMs);
      if (waiting !== undefined) await waiting;
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof EngineUnavailable) || timers.now() >= untilMs) throw error;
      }
      if (partition.isReady) await pause(timers, RETRY_MS);
    }
  } catch (error) {
    if (error instanceof EngineUnavailable) meter.count('engineWaitsGivenUp');
    throw error;
  }
}

async function notLater(work: Promise<unknown>, untilMs: number, timers: Timers): Promise<void> {
  const late = Promise.withResolvers<void>();
  const cancel = timers.after(Math.max(0, untilMs - timers.now()), () =>
    late.reject(new EngineUnavailable('Redis has not confirmed a subscription')),
  );
  await Promise.race([work, late.promise]).finally(cancel);
}
