/** A value that is here already, or will be. */
export type MaybePromise<T> = T | Promise<T>;

/**
 * Goes on with a value, in the same turn if it is here already.
 *
 * One node in memory must answer within one turn: Bun closes a connection whose next request arrives while
 * a handler still waits, and a promise per message costs more than most messages. So the core never writes
 * `await` where a port may answer at once.
 */
export function after<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Waits for all of them, in the same turn if all are here already. */
export function all<T>(values: readonly MaybePromise<T>[]): MaybePromise<T[]> {
  // Told apart by a loop, not `Promise.all`: that would take a turn even when there is nothing to wait for.
  return values.some((value) => value instanceof Promise)
    ? Promise.all(values)
    : (values as T[]).slice();
}
