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

/** A command of the server for a shell. Options without a value are left out. */
export function asFanfare(
  operands: readonly string[],
  options: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries(options).flatMap(([name, value]) =>
    value ? [`--${name}`, value] : [],
  );
  const { command = 'fanfare' } = serverFacts.value ?? {};
  return `${command} ${[...operands, ...given].map(word).join(' ')}`;
}

/** Quotes a word for a shell. */
function word(text: string): string {
  return /^[\w.:/,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
