import type { RedisConnection } from './connection.ts';

/** The credentials of a connection. */
export interface Login {
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
}

/** Logs a new connection in and selects its database. Rejects with what Redis says. */
export async function logIn(
  connection: RedisConnection,
  { user, password, db }: Login,
): Promise<void> {
  const login = user === undefined ? [password ?? ''] : [user, password ?? ''];
  await Promise.all([
    user === undefined && password === undefined
      ? undefined
      : connection.request(['AUTH', ...login]),
    db === 0 ? undefined : connection.request(['SELECT', db]),
  ]);
}
