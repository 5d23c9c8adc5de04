const TIME_ZONE_LENGTH_MAX = 64;

const TIME_OF_DAY = /^(?:[01]\d|2[0-3]):[0-5]\d$/;

/** Reads the name of a time zone; `undefined`: this server does not know it. Offsets such as +05:30 are no names. */
export function readTimeZone(text: string): string | undefined {
  if (text.length > TIME_ZONE_LENGTH_MAX || !/^[a-z]/i.test(text)) return undefined;
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(text).timeZoneId;
  } catch {
    return undefined;
  }
}

/** Whether a text is a time of the day such as 07:30. */
export function isTimeOfDay(text: string): boolean {
  return TIME_OF_DAY.test(text);
}
