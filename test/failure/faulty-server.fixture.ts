import { run } from '../../src/cli/run.ts';
import { MemoryEngine } from '../../src/engines/memory.ts';
import { ClientAudience } from '../../src/transports/clients/audience.ts';
import { sendCommand } from './thread-commands.fixture.ts';

/**
 * The server as `src/main.ts` runs it, with a fault inside that SIGUSR2 sets off. `FAULT` names it; nothing
 * of the product knows of this.
 */

const RealWorker = globalThis.Worker;
const loops: { background?: Worker; realtime?: Worker } = {};

/** Is the real thing, remembers it, and puts the faults of the other loops beside it. */
globalThis.Worker = class extends RealWorker {
  constructor(url: string | URL, options?: WorkerOptions) {
    const loop = (['background', 'realtime'] as const).find((name) =>
      String(url).includes(`/${name}/`),
    );
    const preload = [`${import.meta.dir}/faulty-thread.fixture.ts`];
    const env = { ...Bun.env, FAULTY_LOOP: String(loop) } as Record<string, string>;
    super(url, { ...options, ...(loop !== undefined && { preload, env }) });
    if (loop !== undefined) loops[loop] = this;
  }
};

function fail(): never {
  throw new Error('a fault of the test');
}

const faults: Readonly<Record<string, () => void>> = {
  'background ends': () => loops.background?.terminate(),
  'background throws': () => sendCommand('background throws'),
  'background rejects': () => sendCommand('background rejects'),
  'thread ends': () => loops.realtime?.terminate(),
  'thread throws': () => sendCommand('realtime throws'),
  'thread rejects': () => sendCommand('realtime rejects'),
  'thread hangs': () => sendCommand('realtime hangs'),
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
  setImmediate(() => {
    const { FAULT = '' } = process.env;
    process.stderr.write(`now: ${FAULT}\n`);
    faults[FAULT]?.();
  });
});

process.exitCode = await run(process.argv.slice(2));
