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
