import type { InFlightJob } from './in-flight-job.ts';

/** Devices of a job whose notification has the same lifetime, by their places. */
export interface DueGroup {
  /** When they were due. */
  readonly dueAtMs: number;
  /** Their time to live starts here: later than when they were due, if the publish has `perSecond`. */
  readonly startMs: number;
  /** When they were first tried: quiet hours may have delayed it. */
  readonly triedFromMs: number;
  readonly places: readonly number[];
}

/** Longer than any quiet hours, also in the night in which an hour is repeated. */
const LONGEST_NIGHT_MS = 26 * 3_600_000;

/** Groups devices of a job by their lifetime. Nearly always it is one group: retries last longer than any night. */
export function dueGroups(
  job: InFlightJob,
  places: readonly number[],
  retryMs: number,
): readonly DueGroup[] {
  const { publish, recipients, storedPublish } = job;
  const { dueAtMs } = publish;
  const isShort = retryMs < LONGEST_NIGHT_MS;
  const { sendAtLocal, perSecond } = storedPublish ?? {};
  if (sendAtLocal === undefined && perSecond === undefined && !isShort) {
    return [{ dueAtMs, startMs: dueAtMs, triedFromMs: dueAtMs, places }];
  }
  const { dueTimes } = job;
  const groups = new Map<string, DueGroup & { readonly places: number[] }>();
  for (const place of places) {
    const recipient = recipients[place];
    if (recipient === undefined) continue;
    const pacedMs = job.pacedMs(recipient);
    const dueMs = dueTimes?.startOf(recipient) ?? dueAtMs;
    const startMs = dueMs + pacedMs;
    const triedFromMs =
      ((isShort ? dueTimes?.firstTryOf(recipient) : undefined) ?? dueMs) + pacedMs;
    const key = `${dueMs} ${startMs} ${triedFromMs}`;
    const group = groups.get(key);
    if (group !== undefined) group.places.push(place);
    else groups.set(key, { dueAtMs: dueMs, startMs, triedFromMs, places: [place] });
  }
  return [...groups.values()];
}
