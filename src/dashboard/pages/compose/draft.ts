import { signal } from '@preact/signals';
import { isObject, type JsonObject as Json } from '../../parts/json/json.ts';
import { type Platform, platforms } from '../publishes/words.ts';

/** The place of each text of the form in the payload of each platform. */
const places: Readonly<Record<string, Partial<Record<string, readonly string[]>>>> = {
  title: {
    apns: ['aps', 'alert', 'title'],
    fcm: ['notification', 'title'],
    web: ['notification', 'title'],
  },
  body: {
    apns: ['aps', 'alert', 'body'],
    fcm: ['notification', 'body'],
    web: ['notification', 'body'],
  },
  link: { web: ['notification', 'deep_link'] },
  image: { fcm: ['notification', 'image'], web: ['notification', 'icon'] },
};

/** The body of a publish that is being written. Form and JSON are two views of it. */
export const draft = signal<Json>({
  interests: ['hello'],
  ...Object.fromEntries(
    platforms.map((platform) => [
      platform,
      payloadOf({ title: 'Hello', body: 'It works' }, platform),
    ]),
  ),
});

export type TextName = 'title' | 'body' | 'link' | 'image';

/** A text of the payload for one platform, or of the first that has it. */
export function textOf(body: Json, name: TextName, platform?: Platform): string {
  const among = platform === undefined ? platforms : [platform];
  for (const each of among) {
    const found = read(body[each], places[name]?.[each] ?? ['']);
    if (typeof found === 'string') return found;
    // Apple also takes the alert as one text.
    const alert = each === 'apns' && name === 'body' ? read(body[each], ['aps', 'alert']) : '';
    if (typeof alert === 'string' && alert !== '') return alert;
  }
  return '';
}

/** The body with a text in the payloads of all its platforms. An empty one leaves. */
export function withText(body: Json, name: TextName, text: string): Json {
  const changed = { ...body };
  for (const platform of platforms) {
    const place = places[name]?.[platform];
    if (place !== undefined && changed[platform] !== undefined) {
      changed[platform] = written(changed[platform], place, text);
    }
  }
  return changed;
}

/** Adds a platform to the body, with the texts of the others, or removes one. */
export function withPlatform(body: Json, platform: Platform, isOn: boolean): Json {
  const { [platform]: _, ...others } = body;
  if (!isOn) return others;
  const texts = Object.fromEntries(
    Object.keys(places).map((name) => [name, textOf(body, name as TextName)]),
  );
  return { ...others, [platform]: payloadOf(texts, platform) };
}

function payloadOf(texts: Readonly<Record<string, string>>, platform: string): unknown {
  return Object.entries(texts).reduce<unknown>((payload, [name, text]) => {
    const place = places[name]?.[platform];
    return place === undefined || text === '' ? payload : written(payload, place, text);
  }, {});
}

/** The audience. */
export function namesOf(body: Json): {
  readonly kind: 'interests' | 'users';
  readonly text: string;
} {
  const kind = body['users'] === undefined ? 'interests' : 'users';
  const names = body[kind];
  return { kind, text: Array.isArray(names) ? names.join(', ') : '' };
}

export function withNames(body: Json, kind: 'interests' | 'users', text: string): Json {
  const { interests: _, users: __, live, ...others } = body;
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  // An interest names no users.
  return { [kind]: names, ...others, ...(kind === 'users' && live !== undefined && { live }) };
}

/** A field that only browsers have, as text. */
export function webOf(body: Json, name: string): string {
  const value = read(body['web'], [name]);
  return value === undefined ? '' : String(value);
}

/** The body with such a field. An empty one leaves. */
export function withWeb(body: Json, name: string, value: string | number | boolean): Json {
  const { [name]: _, ...rest } = isObject(body['web']) ? body['web'] : {};
  return { ...body, web: value === '' ? rest : { ...rest, [name]: value } };
}

/** The languages that have a text of their own. */
export function languagesOf(body: Json): readonly string[] {
  return isObject(body['texts']) ? Object.keys(body['texts']) : [];
}

/** What the draft says in a language. */
export function inLanguage(body: Json, language: string, name: 'title' | 'body'): string {
  const value = read(body['texts'], [language, name]);
  return typeof value === 'string' ? value : '';
}

/** The body with a text in a language. `undefined` removes the language. */
export function withLanguage(
  body: Json,
  language: string,
  text: { readonly title?: string; readonly body?: string } | undefined,
): Json {
  const { texts, ...others } = body;
  const { [language]: before, ...rest } = isObject(texts) ? texts : {};
  const given = text && {
    ...rest,
    [language]: Object.fromEntries(
      Object.entries({ ...(isObject(before) && before), ...text }).filter(([, one]) => one !== ''),
    ),
  };
  const changed = given ?? rest;
  return Object.keys(changed).length === 0 ? others : { ...others, texts: changed };
}

/** A field of the event that users get in the app. Data that is no text reads as its JSON, which is what clients get. */
export function liveOf(body: Json, name: string): string {
  const value = read(body['live'], [name]);
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The body with such a field. An empty one leaves; without any, the publish has no event. */
export function withLive(body: Json, name: string, value: string | number): Json {
  const { live, ...others } = body;
  const { [name]: _, ...rest } = isObject(live) ? live : {};
  const changed = value === '' ? rest : { ...rest, [name]: value };
  return Object.keys(changed).length === 0 ? others : { ...others, live: changed };
}

function read(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return value;
  return isObject(value) ? read(value[name], rest) : undefined;
}

function written(value: unknown, [name = '', ...rest]: readonly string[], text: string): Json {
  const { [name]: before, ...others } = isObject(value) ? value : {};
  if (rest.length > 0) return { ...others, [name]: written(before, rest, text) };
  return text === '' ? others : { ...others, [name]: text };
}
