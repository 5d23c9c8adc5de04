import { isGiven, isJsonObject, type JsonObject } from '../../runtime/json-object.ts';
import { readLanguage } from '../model/preferences.ts';
import type { Text, Texts } from '../model/texts.ts';
import { isEmptyArray } from '../payloads/field-rules.ts';
import { FieldFault } from '../refusal.ts';

const LANGUAGES_MAX = 50;

/** Reads the field `texts` of a publish. */
export function readTexts(value: unknown): { readonly texts: Texts | undefined } | FieldFault {
  if (!isGiven(value) || isEmptyArray(value)) return { texts: undefined };
  if (!isJsonObject(value)) return new FieldFault('texts', 'must be an object');
  const entries = Object.entries(value);
  if (entries.length > LANGUAGES_MAX) {
    const rule = `has ${entries.length} languages: the limit is ${LANGUAGES_MAX}`;
    return new FieldFault('texts', rule);
  }
  const texts = new Map<string, Text>();
  for (const [key, given] of entries) {
    const language = readLanguage(key);
    if (language === undefined) {
      const rule = `must have language tags as its keys, such as pt-BR: ${shown(key)} is none`;
      return new FieldFault('texts', rule);
    }
    if (texts.has(language)) return new FieldFault('texts', `has ${shown(language)} twice`);
    const text = readText(given, `texts.${key}`);
    if (text instanceof FieldFault) return text;
    texts.set(language, text);
  }
  return { texts: texts.size === 0 ? undefined : texts };
}

function readText(given: unknown, at: string): Text | FieldFault {
  if (!isJsonObject(given)) return new FieldFault(at, 'must be an object');
  const title = textOf(given, 'title');
  if (title === null) return new FieldFault(`${at}.title`, 'must be a string');
  const body = textOf(given, 'body');
  if (body === null) return new FieldFault(`${at}.body`, 'must be a string');
  return title === undefined && body === undefined
    ? new FieldFault(at, 'must have a title or a body')
    : { title, body };
}

/** `null`: neither absent nor a text. */
function textOf(fields: JsonObject, name: keyof Text): string | undefined | null {
  const value = fields[name];
  if (!isGiven(value)) return undefined;
  return typeof value === 'string' ? value : null;
}

function shown(key: string): string {
  return JSON.stringify(key.slice(0, 40));
}
