import { jump } from './clock.fixture.ts';
import { sendCommand } from './thread-commands.fixture.ts';

/** The server as `src/main.ts` runs it, with a clock that is wrong: see `clock.fixture.ts`. */

const RealWorker = globalThis.Worker;

globalThis.Worker = class extends RealWorker {
  constructor(url: string | URL, options?: WorkerOptions) {
    super(url, { ...options, preload: [`${import.meta.dir}/clock-thread.fixture.ts`] });
  }
};

process.on('SIGUSR2', () => {
  jump();
  sendCommand('jump');
});

// Only now, with the clock wrong already.
await import(process.env['TEST_PROGRAM'] ?? '../../src/main.ts');
