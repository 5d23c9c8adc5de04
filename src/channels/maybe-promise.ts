/** A value that is here already, or will be. */
export type MaybePromise<T> = T | Promise<T>;

/**
 * Goes on with a value, in the same turn if it is here already.
 *
 * With an engine in memory each message must be answered in the same turn: Bun closes a connection whose next request
 * arrives while a handler still waits, and a promise costs more than most messages. So the core never uses `await` on a
 * port that may answer at once.
 */
export function after<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Runs something; what it throws becomes a rejection. */
export function attempt<T>(run: () => MaybePromise<T>): MaybePromise<T> {
  try {
    return run();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Runs something, and `undo` before its failure is passed on. */
export function undoIfFailed<T>(run: () => MaybePromise<T>, undo: () => void): MaybePromise<T> {
  return recover(run, (error) => {
    undo();
    throw error;
  });
}

/** Runs something. Its failure, thrown now or rejected later, goes to `failed`, which says what to return instead. */
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

/** Runs something for each item, even if it fails for one of them. In the same turn if all results are here already. */
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
