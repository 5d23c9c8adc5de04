import { countDescriptors } from './descriptors.ts';
import { HandshakeSweep, type HandshakeSweepOptions } from './handshake-sweep.ts';
import { openLibc } from './libc.ts';

/** What the guard watches, and whom it asks and tells. */
export interface HandshakeGuardOptions extends Omit<HandshakeSweepOptions, 'nowMs'> {
  /**
   * Tells how many connections are known to be finished: the open WebSockets. It is called every
   * round, so it must be cheap. A figure too low costs needless sweeps, one too high hides attackers.
   */
  finishedCount(): number;

  /** Hears, at most once, why the guard has stopped by itself. */
  failed(error: unknown): void;

  readonly intervalMs?: number;
  readonly nowMs?: () => number;
}

/** How often the open files are counted. */
const INTERVAL_MS = 250;

/** The rest after a sweep, as a multiple of its time: a sweeping guard takes a tenth of a core. */
const REST_FACTOR = 9;

/** The longest rest. The listener ends an unfinished handshake by itself once its idle time is over. */
const REST_MS_MAX = 5_000;

/**
 * Starts to close unfinished handshakes over the limit, the newest first. Gives undefined where that
 * is not supported, which is everywhere but on Linux; there only Bun's limit in time holds.
 *
 * It belongs on a worker of the process that has the listeners. `Bun.serve` does not tell when it
 * accepts a connection, so the guard looks from outside. Every 250 ms it counts the open files of the
 * process. Only if more than `limitPerAddress` of them are not known to be finished connections, it
 * sweeps: it reads the kernel's table of connections, and looks closer at the addresses that have more
 * than the limit.
 *
 * Measured on one core of a small machine: a count takes 2.3 µs. A sweep takes 11 ms with no connection
 * at all, 57 ms at 10,000 connections from many addresses, 95 ms if all are from one address, and 10 µs
 * more for each that it closes. Connections that wait for their end (TIME_WAIT) cost 2 µs each.
 */
export function startHandshakeGuard(options: HandshakeGuardOptions): Disposable | undefined {
  if (process.platform !== 'linux') return undefined;

  const stop = new AbortController();
  watch(options, stop.signal).catch((error: unknown) => {
    if (!stop.signal.aborted) options.failed(error);
  });
  return { [Symbol.dispose]: () => stop.abort() };
}

async function watch(options: HandshakeGuardOptions, stopped: AbortSignal): Promise<void> {
  const { limitPerAddress, intervalMs = INTERVAL_MS } = options;
  using libc = openLibc();
  const sweep = new HandshakeSweep({ nowMs: () => performance.now(), ...options }, libc);

  let restMs = intervalMs;
  while (await rested(restMs, stopped)) {
    const begunMs = performance.now();
    if (countDescriptors() - options.finishedCount() > limitPerAddress) await sweep.run(stopped);
    const tookMs = performance.now() - begunMs;
    restMs = Math.max(intervalMs, Math.min(tookMs * REST_FACTOR, REST_MS_MAX));
  }
}

/** Waits, and tells whether to go on. */
function rested(forMs: number, stopped: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (stopped.aborted) return resolve(false);
    const stop = () => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      stopped.removeEventListener('abort', stop);
      resolve(true);
    }, forMs);
    timer.unref();
    stopped.addEventListener('abort', stop, { once: true });
  });
}
