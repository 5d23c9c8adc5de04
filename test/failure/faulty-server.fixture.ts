import { run } from '../../src/cli/run.ts';
import { MemoryEngine } from '../../src/engines/memory.ts';
import { ClientAudience } from '../../src/transports/clients/audience.ts';

/**
 * The server as `src/main.ts` runs it, with a fault inside that SIGUSR2 sets off. `FAULT` names it; nothing
 * of the product knows of this.
 */

const realWorker = globalThis.Worker;
let background: Worker | undefined;
let thread: Worker | undefined;

/** Hands out the real thing, remembers it, and puts the faults of the other loops beside it. */
globalThis.Worker = class extends realWorker {
  constructor(url: string | URL, options?: WorkerOptions) {
    super(url, { ...options, preload: [`${import.meta.dir}/faulty-thread.fixture.ts`] });
    if (String(url).includes('/background/')) background = this;
    if (String(url).includes('/realtime/')) thread = this;
  }
};

function fail(): never {
  throw new Error('a fault of the test');
}

const faults: Readonly<Record<string, () => void>> = {
  'background ends': () => background?.terminate(),
  'background throws': () => background?.postMessage({ fault: 'throws' }),
  'background rejects': () => background?.postMessage({ fault: 'rejects' }),
  'thread ends': () => thread?.terminate(),
  'thread throws': () => thread?.postMessage({ fault: 'throws' }),
  'thread rejects': () => thread?.postMessage({ fault: 'rejects' }),
  'thread hangs': () => thread?.postMessage({ fault: 'hangs' }),
  'realtime throws': () => {
    throw new Error('a fault of the test');
  },
  'realtime rejects': () => void Promise.reject(new Error('a fault of the test')),
  'the engine throws': () => {
    MemoryEngine.prototype.join = fail;
    process.stderr.write('subscribing fails\n');
  },
  'the server throws': () => {
    ClientAudience.prototype.join = fail;
    process.stderr.write('subscribing fails\n');
  },
};

process.on('SIGUSR2', () => {
  // In an event of its own, so that it does not look as if the signal had thrown it.
  setImmediate(() => faults[process.env['FAULT'] ?? '']?.());
});

process.exitCode = await run(process.argv.slice(2));
