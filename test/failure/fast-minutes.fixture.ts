import { isMainThread } from 'node:worker_threads';

/** The server as `src/main.ts` runs it, whose timers of a minute take 50 ms, in each of its threads. */

const MINUTE_MS = 60_000;
const FAST_MS = 50;

const realSetTimeout = globalThis.setTimeout;
globalThis.setTimeout = Object.assign(
  (run: () => void, delayMs?: number, ...args: []) =>
    realSetTimeout(run, delayMs === MINUTE_MS ? FAST_MS : delayMs, ...args),
  realSetTimeout,
);

if (isMainThread) {
  const RealWorker = globalThis.Worker;
  globalThis.Worker = class extends RealWorker {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(url, { ...options, preload: [import.meta.path] });
    }
  };
  await import(process.env['TEST_PROGRAM'] ?? '../../src/main.ts');
}
