import type { Branded } from '../../runtime/branded.ts';
import type { QuietHours } from './preferences.ts';

/** A time by the clock of each device, for example `2026-12-24T18:00:00`. */
export type LocalTime = Branded<'LocalTime'>;

/** A time without an offset; seconds may be missing. */
const LOCAL_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::[0-5]\d)?$/;

/** The offset of the zone in which a time comes first. */
const FIRST_OFFSET_MS = 14 * 3_600_000;

/** Reads a local time; `undefined`: it is none, or there is no such day or hour. */
export function readLocalTime(text: string): LocalTime | undefined {
  if (!LOCAL_TIME.test(text)) return undefined;
  try {
    return Temporal.PlainDateTime.from(text, { overflow: 'reject' }).toString() as LocalTime;
  } catch {
    return undefined;
  }
}

/** When the first place on earth has a local time. */
export function firstInstantOf(time: LocalTime): number {
  return Date.parse(`${time}Z`) - FIRST_OFFSET_MS;
}

/**
 * When a zone has a local time. A time that the clock skips moves forward by the gap; of one that it repeats, it is the
 * first. `undefined`: this server does not know the zone.
 */
export function instantIn(timeZone: string, time: LocalTime): number | undefined {
  try {
    const zoned = Temporal.PlainDateTime.from(time).toZonedDateTime(timeZone, {
      disambiguation: 'compatible',
    });
    return zoned.epochMilliseconds;
  } catch {
    return undefined;
  }
}

/** The time of the day in a zone, as `HH:MM`; `undefined`: this server does not know the zone. */
export function timeOfDayIn(timeZone: string, atMs: number): string | undefined {
  return zonedAt(timeZone, atMs)?.toPlainTime().toString().slice(0, 5);
}

/** When the quiet hours end that a moment is in; `undefined`: it is in none. */
export function quietUntil(
  atMs: number,
  { from, to }: QuietHours,
  timeZone: string,
): number | undefined {
  const now = zonedAt(timeZone, atMs);
  if (now === undefined) return undefined;
  const time = now.toPlainTime().toString().slice(0, 5);
  const isOverNight = from > to;
  const isQuiet = isOverNight ? time >= from || time < to : time >= from && time < to;
  if (!isQuiet) return undefined;
  const date = now.toPlainDate().add({ days: isOverNight && time >= from ? 1 : 0 });
  const end = date.toPlainDateTime(to);
  const endMs = end.toZonedDateTime(timeZone).epochMilliseconds;
  // In the night in which an hour is repeated, the first of two ends may be over.
  return endMs > atMs
    ? endMs
    : end.toZonedDateTime(timeZone, { disambiguation: 'later' }).epochMilliseconds;
}

function zonedAt(timeZone: string, atMs: number): Temporal.ZonedDateTime | undefined {
  try {
    return Temporal.Instant.fromEpochMilliseconds(Math.floor(atMs)).toZonedDateTimeISO(timeZone);
  } catch {
    return undefined;
  }
}
