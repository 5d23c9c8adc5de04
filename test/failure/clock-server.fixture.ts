import { jump } from './clock.fixture.ts';

/** The server as `src/main.ts` runs it, with a clock that is wrong: see `clock.fixture.ts`. */

const RealWorker = globalThis.Worker;
// Not the messages of the loop: a preload that listens to these would take those that came before the loop listens.
const threads = new BroadcastChannel('jumps');
threads.unref();

globalThis.Worker = class extends RealWorker {
  constructor(url: string | URL, options?: WorkerOptions) {
    super(url, { ...options, preload: [`${import.meta.dir}/clock-thread.fixture.ts`] });
  }
};

process.on('SIGUSR2', () => {
  jump();
  threads.postMessage('jump');
});

// Only now, with the clock wrong already.
await import(process.env['TEST_PROGRAM'] ?? '../../src/main.ts');
