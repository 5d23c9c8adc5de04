import type { Connection } from './connection.ts';
import { RedisAway, RedisError, RedisRefused } from './reply.ts';

/** The credentials of a connection, and its name. */
export interface Login {
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
}

/** Logs a new connection in and selects its database. Closes it and throws `RedisRefused` if Redis refuses. */
export async function logIn(connection: Connection, { user, password, db }: Login): Promise<void> {
  const login = user === undefined ? [password ?? ''] : [user, password ?? ''];
  try {
    await Promise.all([
      user === undefined && password === undefined
        ? undefined
        : connection.request(['AUTH', ...login]),
      db === 0 ? undefined : connection.request(['SELECT', db]),
    ]);
  } catch (error) {
    connection.end('not logged in');
    throw loginFailure(error);
  }
}

/** Errors of Redis on a new connection after which another attempt may succeed. */
const LATER = /^(?:BUSY|LOADING|MASTERDOWN)\b|max number of clients/;

/** Turns a refusal into `RedisRefused`, unless another attempt may succeed. */
export function loginFailure(error: unknown): unknown {
  if (!(error instanceof RedisError)) return error;
  const { message } = error;
  return LATER.test(message) ? new RedisAway(message, false) : new RedisRefused(message);
}
