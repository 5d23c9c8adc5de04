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
};

/** Faults inside of classes. */
const replacements: Readonly<Record<string, () => Promise<void>>> = {
  async 'the engine throws'() {
    const { MemoryEngine } = await import('../../src/engines/memory.ts');
    MemoryEngine.prototype.join = fail;
  },
  async 'the server throws'() {
    const { ClientAudience } = await import('../../src/transports/clients/audience.ts');
    ClientAudience.prototype.join = fail;
  },
};

const { FAULT = '', TEST_PROGRAM } = process.env;

process.on('SIGUSR2', () => {
  // In an event of its own, so that it does not look as if the signal had thrown it.
  setImmediate(() => {
    process.stderr.write(`now: ${FAULT}\n`);
    faults[FAULT]?.();
    void replacements[FAULT]?.().then(() => process.stderr.write('subscribing fails\n'));
  });
});

// The classes are those of the sources. All other servers run from the bundle, which starts in less time.
const program = FAULT in replacements ? undefined : TEST_PROGRAM;
await import(program ?? '../../src/main.ts');
