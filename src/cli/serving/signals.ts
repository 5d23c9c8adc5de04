/**
 * Signals within this time count as one, because npm and the terminal may both pass on the same signal.
 */
const SAME_SIGNAL_MS = 500;

/** Waits for SIGTERM or SIGINT: the first asks the server to stop, a later second one to stop at once. */
export function stopSignal(): {
  readonly first: Promise<NodeJS.Signals>;
  readonly second: Promise<void>;
} {
  const first = Promise.withResolvers<NodeJS.Signals>();
  const second = Promise.withResolvers<void>();
  let firstAtMs: number | undefined;
  const received = (signal: NodeJS.Signals) => {
    const now = performance.now();
    firstAtMs ??= now;
    first.resolve(signal);
    if (now - firstAtMs > SAME_SIGNAL_MS) second.resolve();
  };
  process.on('SIGTERM', received);
  process.on('SIGINT', received);
  return { first: first.promise, second: second.promise };
}

/** Calls `reload` for each SIGHUP, which then does not end the process. */
export function onReload(reload: () => void): void {
  process.on('SIGHUP', reload);
}
