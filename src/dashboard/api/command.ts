import { apiUrl, type Given, type OperationName } from './client.ts';
import { serverFacts } from './server-facts.ts';

/** A call of an operation for a shell. */
export function asCurl<Name extends OperationName>(name: Name, given: Given<Name> = {}): string {
  const [method = 'GET', pattern = ''] = name.split(' ');
  const { path, query, body } = given as {
    path?: Readonly<Record<string, string>>;
    query?: Readonly<Record<string, string | undefined>>;
    body?: unknown;
  };
  return [
    'curl',
    // A stream is shown as it comes.
    pattern.endsWith('/stream') ? '-N' : '',
    '-u :PASSWORD',
    method === 'GET' ? '' : `-X ${method} -H 'Content-Type: application/json'`,
    body === undefined ? '' : `-d ${word(JSON.stringify(body))}`,
    word(location.origin + apiUrl(pattern, path, query)),
  ]
    .filter(Boolean)
    .join(' ');
}

/** A command of the server for a shell. An option that is `true` takes no value; others without a value are left out. */
export function asFanfare(
  operands: readonly string[],
  options: Readonly<Record<string, string | boolean | undefined>> = {},
): string {
  // With an equals sign, because a value that begins with a dash would count as an option of its own.
  const given = Object.entries(options).flatMap(([name, value]) =>
    value === true ? `--${name}` : value ? `--${name}=${word(value)}` : [],
  );
  const words = operands.map(word);
  // So would an operand, but not behind `--`.
  const dashed = operands.findIndex((operand) => operand[0] === '-');
  if (dashed < 0) words.push(...given);
  else words.splice(dashed, 0, ...given, '--');
  return [serverFacts.value?.command ?? 'fanfare', ...words].join(' ');
}

/** What a terminal would obey or not show: control characters, and those that change the direction of text. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Quotes a word for a shell, hidden characters as in C, which bash and zsh read. */
function word(text: string): string {
  if (/^[\w.:/,-]+$/.test(text)) return text;
  if (text.search(HIDDEN) < 0) return `'${text.replaceAll("'", "'\\''")}'`;
  const shown = text
    .replace(/['\\]/g, '\\$&')
    .replace(HIDDEN, (hidden) => encodeURIComponent(hidden).replaceAll('%', '\\x'));
  return `$'${shown}'`;
}
