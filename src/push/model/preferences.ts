/** The part of each day in which a device is not to ring, by its local time. It may begin on one day and end on the next. */
export interface QuietHours {
  /** `HH:MM`, like `to`, which differs from it. */
  readonly from: string;
  readonly to: string;
}

/** What is known of a device or a user. `undefined`: not known. */
export interface Preferences {
  /** A language tag of BCP 47 in canonical form. */
  readonly language?: string | undefined;
  /** A time zone of the IANA database. */
  readonly timeZone?: string | undefined;
  /** `none`: it has no quiet hours, whatever holds for others. */
  readonly quietHours?: QuietHours | 'none' | undefined;
}

/** Changes of preferences: `undefined` keeps a value, and `null` forgets it. */
export type PreferenceChanges = {
  readonly [Name in keyof Preferences]: Preferences[Name] | null;
};

const LANGUAGE_LENGTH_MAX = 35;

const TIME_ZONE_LENGTH_MAX = 64;

const TIME_OF_DAY = /^(?:[01]\d|2[0-3]):[0-5]\d$/;

/** Reads a language tag; `undefined`: it is none, or has more than 35 characters. */
export function readLanguage(text: string): string | undefined {
  if (text.length > LANGUAGE_LENGTH_MAX) return undefined;
  try {
    const [language] = Intl.getCanonicalLocales(text);
    return language === undefined || language.length > LANGUAGE_LENGTH_MAX ? undefined : language;
  } catch {
    return undefined;
  }
}

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
