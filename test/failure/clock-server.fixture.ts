import { jump } from './clock.fixture.ts';

/** The server as `src/main.ts` runs it, with a clock that is wrong: see `clock.fixture.ts`. */

const RealWorker = globalThis.Worker;
let background: Worker | undefined;

globalThis.Worker = class extends RealWorker {
  constructor(url: string | URL, options?: WorkerOptions) {
    super(url, { ...options, preload: [`${import.meta.dir}/clock-background.fixture.ts`] });
    if (String(url).includes('/background/')) background = this;
  }
};

process.on('SIGUSR2', () => {
  jump();
  background?.postMessage({ jumps: true });
});

// Only now, with the clock wrong already.
await import(process.env['TEST_PROGRAM'] ?? '../../src/main.ts');
