import { run } from '../../src/cli/run.ts';

/**
 * The server as `src/main.ts` runs it, which waits an hour for push services, gateways and names that do not answer. What
 * waits behind these is not served while a test runs, on however quick or slow a machine. If `NAME_SERVER` is set, it asks
 * that name server.
 */

const RealWorker = globalThis.Worker;

globalThis.Worker = class extends RealWorker {
  constructor(url: string | URL, options?: WorkerOptions) {
    super(url, { ...options, preload: [`${import.meta.dir}/patient-background.fixture.ts`] });
  }
};

process.exitCode = await run(process.argv.slice(2));
