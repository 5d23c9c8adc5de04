import { signal } from '@preact/signals';
import type { Operations } from './answers.ts';
import { root } from './root.ts';

/** An operation of the admin API: its method and path. */
export type OperationName = keyof Operations;
export type Answer<Name extends OperationName> = Operations[Name]['answer'];

/** The parameters of a call: only those of its operation. */
export type Given<Name extends OperationName> = {
  readonly [Part in 'path' | 'query' | 'body' as keyof Operations[Name][Part] extends never
    ? never
    : Part]?: Operations[Name][Part];
};

/** A refusal by the server, or no answer (`status` 0). */
export class Failed extends Error {
  readonly status: number;
  /** The field that the refusal names. */
  readonly field: string | undefined;

  constructor(status: number, message: string, field?: string) {
    super(message);
    this.status = status;
    this.field = field;
  }
}

/** A refusal, or what the browser threw as one. */
export function failedOf(error: unknown): Failed {
  if (error instanceof Failed) return error;
  return new Failed(0, error instanceof Error ? error.message : String(error));
}

/** Whether the server requires a log-in. Calls wait until then. */
export const needsLogin = signal(false);

const TIMEOUT_MS = 15_000;

let loggedIn = Promise.withResolvers<void>();

/** Resumes the calls that wait for a log-in. */
export function loginDone(): void {
  needsLogin.value = false;
  loggedIn.resolve();
  loggedIn = Promise.withResolvers();
}

/** Calls an operation. A call without a session waits for the log-in and is then sent again. */
export async function call<Name extends OperationName>(
  name: Name,
  given: Given<Name> = {},
  signal?: AbortSignal,
): Promise<Answer<Name>> {
  for (;;) {
    const response = await send(name, given, signal);
    if (response.status === 401 && !name.endsWith('/session')) {
      needsLogin.value = true;
      await loggedIn.promise;
      continue;
    }
    if (response.ok) return (await response.json()) as Answer<Name>;
    throw await failureOf(response);
  }
}

async function send(name: string, given: object, signal: AbortSignal | undefined) {
  const [method = 'GET', pattern = ''] = name.split(' ');
  const { path, query, body } = given as {
    path?: Readonly<Record<string, string>>;
    query?: Readonly<Record<string, string | undefined>>;
    body?: unknown;
  };
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  try {
    return await fetch(apiUrl(pattern, path, query), {
      method,
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      ...(method === 'GET'
        ? {}
        : {
            headers: { 'content-type': 'application/json' },
            body: body === undefined ? null : JSON.stringify(body),
          }),
    });
  } catch {
    if (signal?.aborted === true) throw new Failed(0, 'cancelled');
    throw new Failed(
      0,
      timeout.aborted
        ? `The server did not answer within ${TIMEOUT_MS / 1000} s.`
        : 'The server cannot be reached.',
    );
  }
}

/** The URL of an operation. */
export function apiUrl(
  pattern: string,
  path: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const filled = pattern.replaceAll(/\{(\w+)\}/g, (_, part: string) =>
    encodeURIComponent(path[part] ?? ''),
  );
  const parameters = new URLSearchParams(
    Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1])),
  ).toString();
  return `${root}/api/v1${filled}${parameters === '' ? '' : `?${parameters}`}`;
}

/** Reads the reason of a refusal. */
export async function failureOf(response: Response): Promise<Failed> {
  const text = await response.text().catch(() => '');
  try {
    const { error, field } = JSON.parse(text) as { error?: string; field?: string };
    if (typeof error === 'string') return new Failed(response.status, error, field);
  } catch {
    // A proxy answered with a page of its own.
  }
  return new Failed(response.status, `The server answered with ${response.status}.`);
}
