import { Failed } from '../api/client.ts';
import type { LiveRecord } from './records.ts';

/** An event of a recording that can be sent again. */
export interface RecordedEvent {
  readonly atMs: number;
  readonly name: string;
  readonly channel: string;
  readonly data: string;
}

/** The complete data of an event; `undefined` if the recording has only a part of them, or none. */
export function wholeData({ data, bytes }: LiveRecord): string | undefined {
  if (data === undefined) return undefined;
  return bytes === undefined || new TextEncoder().encode(data).length >= bytes ? data : undefined;
}

/** The events of backends and clients that can be sent again, and how many cannot. */
export function sendable(records: readonly LiveRecord[]): {
  readonly events: readonly RecordedEvent[];
  readonly leftOut: number;
} {
  const sent = records.filter(({ kind }) => kind === 'api' || kind === 'client');
  const events = sent.flatMap((record) => {
    const { atMs, event, channel } = record;
    const data = wholeData(record);
    if (event === undefined || channel === undefined || data === undefined) return [];
    return [{ atMs, name: event, channel, data }];
  });
  return { events, leftOut: sent.length - events.length };
}

/** The limit of attempts per event while the app is over its rate, and the pause between two attempts. */
const TRIES = 10;
const WAIT_MS = 1000;

/** After this many failures in a row, the rest would fail too. */
const FAILURES_MAX = 5;

export interface SendingAgain {
  readonly events: readonly RecordedEvent[];
  /** The speed, as a multiple of that of the recording. */
  readonly speed: number;
  readonly send: (event: RecordedEvent) => Promise<unknown>;
  readonly now: () => number;
  /** Waits, or settles early when the user stops it. */
  readonly wait: (ms: number) => Promise<void>;
  readonly isStopped: () => boolean;
  readonly progress: (done: Progress) => void;
}

export interface Progress {
  readonly sent: number;
  readonly failed: number;
  /** The answer of the server to the last event that failed. */
  readonly why: string | undefined;
}

/** Sends events in their order and at their times, or as fast as the server answers. */
export async function sendAgain(given: SendingAgain): Promise<Progress> {
  const { events, speed, now, wait, isStopped, progress } = given;
  const startMs = now();
  const firstMs = events[0]?.atMs ?? 0;
  let done: Progress = { sent: 0, failed: 0, why: undefined };
  let failedInARow = 0;
  for (const event of events) {
    const dueMs = startMs + (event.atMs - firstMs) / speed;
    if (dueMs > now()) await wait(dueMs - now());
    if (isStopped()) break;
    const failed = await tried(given, event);
    failedInARow = failed === undefined ? 0 : failedInARow + 1;
    done =
      failed === undefined
        ? { ...done, sent: done.sent + 1 }
        : { ...done, failed: done.failed + 1, why: failed.message };
    progress(done);
    if (failedInARow >= FAILURES_MAX) break;
  }
  return done;
}

/** Sends one event. Returns why it could not be sent. */
async function tried(
  { send, wait, isStopped }: SendingAgain,
  event: RecordedEvent,
): Promise<Failed | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      await send(event);
      return undefined;
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      if (error.status !== 429 || tries === TRIES || isStopped()) return error;
      await wait(WAIT_MS);
    }
  }
}
