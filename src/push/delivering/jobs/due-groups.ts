import type { InFlightJob } from './in-flight-job.ts';

/** Devices of a job whose notification has the same lifetime, by their places. */
export interface DueGroup {
  /** When they were due. Their time to live starts here. */
  readonly dueAtMs: number;
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
  if (storedPublish?.sendAtLocal === undefined && !isShort) {
    return [{ dueAtMs, triedFromMs: dueAtMs, places }];
  }
  const { dueTimes } = job;
  const groups = new Map<string, DueGroup & { readonly places: number[] }>();
  for (const place of places) {
    const recipient = recipients[place];
    if (recipient === undefined) continue;
    const startMs = dueTimes?.startOf(recipient) ?? dueAtMs;
    const triedFromMs = (isShort ? dueTimes?.firstTryOf(recipient) : undefined) ?? startMs;
    const key = `${startMs} ${triedFromMs}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { dueAtMs: startMs, triedFromMs, places: [place] });
    else group.places.push(place);
  }
  return [...groups.values()];
}
