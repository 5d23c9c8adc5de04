import { isJsonObject, type JsonObject } from '../../runtime/json-object.ts';
import { isTimeOfDay, readTimeZone } from '../../runtime/time/time-zone.ts';
import { type PreferenceChanges, type QuietHours, readLanguage } from '../model/preferences.ts';
import { FieldFault } from '../refusal.ts';

/** Languages of a header that are read. Browsers send a few. */
const LANGUAGES_READ = 20;

/** Reads the changes of preferences in a body. A missing field keeps its value, and `null` forgets it. */
export function readPreferences(body: JsonObject): PreferenceChanges | FieldFault {
  const language = readField(body, 'language', readText(readLanguage), LANGUAGE_RULE);
  if (language instanceof FieldFault) return language;
  const timeZone = readField(body, 'timeZone', readText(readTimeZone), TIME_ZONE_RULE);
  if (timeZone instanceof FieldFault) return timeZone;
  const quietHours = readField(body, 'quietHours', readQuietHours, QUIET_HOURS_RULE);
  if (quietHours instanceof FieldFault) return quietHours;
  return { language: language.value, timeZone: timeZone.value, quietHours: quietHours.value };
}

const LANGUAGE_RULE = 'must be a language tag of at most 35 characters, for example pt-BR';
const TIME_ZONE_RULE = 'must be a time zone of the IANA database, for example Europe/Berlin';
const QUIET_HOURS_RULE =
  'must be {"from": "22:00", "to": "07:30"} with two different times from 00:00 to 23:59, or "none"';

function readField<Value>(
  body: JsonObject,
  name: keyof PreferenceChanges,
  read: (value: unknown) => Value | undefined,
  rule: string,
): { readonly value: Value | null | undefined } | FieldFault {
  const given = body[name];
  if (given === undefined || given === null) return { value: given };
  const value = read(given);
  return value === undefined ? new FieldFault(name, rule) : { value };
}

function readText(read: (text: string) => string | undefined) {
  return (value: unknown) => (typeof value === 'string' ? read(value) : undefined);
}

function readQuietHours(value: unknown): QuietHours | 'none' | undefined {
  if (value === 'none') return value;
  if (!isJsonObject(value)) return undefined;
  const { from, to } = value;
  if (typeof from !== 'string' || typeof to !== 'string' || from === to) return undefined;
  return isTimeOfDay(from) && isTimeOfDay(to) ? { from, to } : undefined;
}

/**
 * Reads the preferred language of an `Accept-Language` header: the one with the highest weight, of equal ones the first.
 * What is malformed is left out. Source: RFC 9110, 12.5.4.
 */
export function readAcceptLanguage(header: string | undefined): string | undefined {
  let best: { readonly language: string; readonly weight: number } | undefined;
  for (const entry of header?.split(',', LANGUAGES_READ) ?? []) {
    const [tag = '', ...parameters] = entry.split(';').map((part) => part.trim());
    const weight = weightOf(parameters);
    const language = tag === '*' ? undefined : readLanguage(tag);
    if (language === undefined || weight === undefined || weight === 0) continue;
    if (best === undefined || weight > best.weight) best = { language, weight };
  }
  return best?.language;
}

/** `undefined`: malformed. */
function weightOf(parameters: readonly string[]): number | undefined {
  const [weight, ...more] = parameters;
  if (weight === undefined) return 1;
  const match = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i.exec(weight);
  return match === null || more.length > 0 ? undefined : Number(match[1]);
}
