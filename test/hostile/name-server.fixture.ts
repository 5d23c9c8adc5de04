import { run } from '../../src/cli/run.ts';

/** The server as `src/main.ts` runs it, but it asks the name server at `NAME_SERVER`. */

const RealWorker = globalThis.Worker;

globalThis.Worker = class extends RealWorker {
  constructor(url: string | URL, options?: WorkerOptions) {
    super(url, { ...options, preload: [`${import.meta.dir}/name-server-background.fixture.ts`] });
  }
};

process.exitCode = await run(process.argv.slice(2));
