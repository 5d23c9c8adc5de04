import { type ConfigProblem, pathText } from '../file/problems.ts';
import { entries, type FoundSetting, valueAt } from './unchecked.ts';

/** White space, and characters without a shape, such as a byte order mark. */
const INVISIBLE = /[\s\p{C}]/u;
const CONTROL = /\p{Cc}/u;

/** Invisible characters that a message shows. */
const SHOWN_MAX = 8;

/**
 * Why a key, secret or password cannot be meant; `undefined` if it can. Files of variables, secrets and YAML add white space
 * and line ends, which no client sends. The text itself is not repeated.
 */
export function invisibleFault(text: string): string | undefined {
  const found = invisible(text);
  return found && `${found}, which nobody sees: remove it`;
}

function invisible(text: string): string | undefined {
  const start = invisibleStart(text);
  if (start !== '') return `begins with ${shown(start)}`;
  const end = invisibleEnd(text);
  if (end !== '') return `ends in ${shown(end)}`;
  const [inside] = CONTROL.exec(text) ?? [];
  return inside && `contains ${shown(inside)}`;
}

function invisibleStart(text: string): string {
  let length = 0;
  for (const character of text) {
    if (!INVISIBLE.test(character)) break;
    length += character.length;
  }
  return text.slice(0, length);
}

function invisibleEnd(text: string): string {
  let from = text.length;
  while (from > 0) {
    const pair = (text.codePointAt(from - 2) ?? 0) > 0xffff ? 2 : 1;
    if (!INVISIBLE.test(text.slice(from - pair, from))) break;
    from -= pair;
  }
  return text.slice(from);
}

/** As JSON, with every character that JSON would leave invisible escaped as well. */
function shown(text: string): string {
  const escaped = JSON.stringify(text.slice(0, SHOWN_MAX)).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return text.length > SHOWN_MAX ? `${escaped}…` : escaped;
}

/** The problems of all keys, secrets, passwords and addresses with passwords in an unchecked configuration. */
export function invisibleCredentials(content: unknown): readonly ConfigProblem[] {
  return credentialsOf(content).flatMap(({ text, path }) => {
    const message = invisibleFault(text);
    return message === undefined ? [] : [{ path: pathText(path), message }];
  });
}

/**
 * Those that have quotes around the whole value. They can be meant, so this is a warning: shells remove such quotes, but
 * `docker run --env-file` and secret files do not.
 */
export function quotedCredentials(content: unknown): readonly ConfigProblem[] {
  return credentialsOf(content)
    .filter(({ text }) => /^(["']).*\1$/s.test(text) && text.length > 1)
    .map(({ path }) => ({
      path: pathText(path),
      message: 'has quotes around its value, which are part of it; remove them if they are not',
    }));
}

interface Credential {
  readonly text: string;
  readonly path: readonly PropertyKey[];
}

function credentialsOf(content: unknown): readonly Credential[] {
  const keys = entries(content, ['channels', 'apps']).flatMap((app) =>
    entries(app.value, ['keys'], app.path),
  );
  const instances = entries(content, ['push', 'instances']);
  const webhooks = instances.flatMap(({ value, path }) => entries(value, ['webhooks'], path));
  return [
    ...keys.flatMap((pair) => [member(pair, 'key'), member(pair, 'secret')]),
    ...instances.flatMap(({ value, path }) => entries(value, ['secretKeys'], path)),
    ...webhooks.map((webhook) => member(webhook, 'secret')),
    ...entries(content, ['engine', 'urls']),
    ...[
      ['admin', 'password'],
      ['engine', 'url'],
      ['engine', 'sentinels', 'user'],
      ['engine', 'sentinels', 'password'],
      ['store', 'url'],
      ['outgoing', 'proxy'],
    ].map((path) => ({ value: valueAt(content, path), path })),
  ].flatMap(({ value, path }) => (typeof value === 'string' ? [{ text: value, path }] : []));
}

function member({ value, path }: FoundSetting, name: string): FoundSetting {
  return { value: valueAt(value, [name]), path: [...path, name] };
}
