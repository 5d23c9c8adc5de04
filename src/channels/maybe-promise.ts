/** A value that is available now or later. */
export type MaybePromise<T> = T | Promise<T>;

/**
 * Continues with a value; in the same turn if it is available already.
 *
 * With an engine in memory each message must be answered in the same turn: Bun closes a connection whose next request
 * arrives while a handler still waits, and a promise costs more than most messages. So the core never uses `await` on
 * a port that may answer synchronously.
 */
export function after<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Calls a function. What it throws becomes a rejection. */
export function attempt<T>(run: () => MaybePromise<T>): MaybePromise<T> {
  try {
    return run();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Calls a function. If it fails, calls `undo` before passing on the failure. */
export function undoIfFailed<T>(run: () => MaybePromise<T>, undo: () => void): MaybePromise<T> {
  return recover(run, (error) => {
    undo();
    throw error;
  });
}

/** Calls a function. Its failure, thrown or rejected, is passed to `failed`, which returns the result instead. */
export function recover<T>(
  run: () => MaybePromise<T>,
  failed: (error: unknown) => MaybePromise<T>,
): MaybePromise<T> {
  let value: MaybePromise<T>;
  try {
    value = run();
  } catch (error) {
    return failed(error);
  }
  return value instanceof Promise ? value.catch(failed) : value;
}

/** Calls a function for each item, even if one fails. Returns in the same turn if all results are available. */
export function mapAll<T, U>(
  items: readonly T[],
  run: (item: T) => MaybePromise<U>,
): MaybePromise<U[]> {
  const results = items.map((item) => attempt(() => run(item)));
  // `Promise.all` would take a turn even if there is nothing to wait for.
  return results.some((result) => result instanceof Promise)
    ? Promise.all(results)
    : (results as U[]);
}
