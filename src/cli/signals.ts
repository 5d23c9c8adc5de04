/**
 * Signals that come this close together are one: npm and the terminal may both pass on the same.
 * Milliseconds.
 */
const SAME_SIGNAL_MS = 500;

/** SIGTERM and SIGINT: the first asks the server to stop, a later second one to stop at once. */
export function stopSignal(): {
  readonly first: Promise<NodeJS.Signals>;
  readonly second: Promise<void>;
} {
  const first = Promise.withResolvers<NodeJS.Signals>();
  const second = Promise.withResolvers<void>();
  let firstAtMs: number | undefined;
  const heard = (signal: NodeJS.Signals) => {
    const now = performance.now();
    firstAtMs ??= now;
    first.resolve(signal);
    if (now - firstAtMs > SAME_SIGNAL_MS) second.resolve();
  };
  process.on('SIGTERM', heard);
  process.on('SIGINT', heard);
  return { first: first.promise, second: second.promise };
}

/** SIGHUP: calls back each time. Whoever listens is not ended by it. */
export function onReload(reload: () => void): void {
  process.on('SIGHUP', reload);
}
