import { run } from '../../src/cli/run.ts';

/**
 * The server as `src/main.ts` runs it, which is slow for ever at one thing: its store at keeping requests that leave the
 * server, or before it removes the pending completion events that were sent; or the push API at its stop. `HELD` says which.
 */

const RealWorker = globalThis.Worker;

globalThis.Worker = class extends RealWorker {
  constructor(url: string | URL, options?: WorkerOptions) {
    super(url, { ...options, preload: [`${import.meta.dir}/held-events-background.fixture.ts`] });
  }
};

process.exitCode = await run(process.argv.slice(2));
