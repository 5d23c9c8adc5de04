import { constants } from 'node:os';

/**
 * How long the machine itself delays an answer at a given moment. Tests of latency add it to their bounds: on a busy
 * machine everything is late. It is measured with another process that does nothing but answer, so an attack that holds
 * up the server does not hold up the measurement.
 */

/** The pause between two measurements of `sampleMachineDelay`. Milliseconds. */
const PAUSE_MS = 20;

let measuring: Promise<() => Promise<number>> | undefined;

/** Measures one round trip to the other process. Milliseconds. */
async function machineDelayMs(): Promise<number> {
  measuring ??= startMeasuring();
  return await (await measuring)();
}

export interface MachineDelay {
  /** The longest delay so far. Milliseconds. */
  readonly longestMs: number;
  /** Returns the longest delay. Milliseconds. */
  stop(): Promise<number>;
}

/** Measures the delay repeatedly until it is stopped. */
export async function sampleMachineDelay(): Promise<MachineDelay> {
  await machineDelayMs();
  let longestMs = 0;
  let isOver = false;
  const run = async () => {
    while (!isOver) {
      longestMs = Math.max(longestMs, await machineDelayMs());
      await Bun.sleep(PAUSE_MS);
    }
  };
  const ended = run();
  return {
    get longestMs() {
      return longestMs;
    },
    async stop() {
      isOver = true;
      await ended;
      return longestMs;
    },
  };
}

async function startMeasuring(): Promise<() => Promise<number>> {
  const program = `${import.meta.dir}/machine-delay.fixture.ts`;
  // The priority of the background loop. The process ends with this one, since its standard input does.
  const priority = String(constants.priority.PRIORITY_BELOW_NORMAL);
  const child = Bun.spawn([process.execPath, program, priority], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  child.unref();
  const port = Number(await firstLine(child.stdout));
  let answered: (() => void) | undefined;
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: { data: () => answered?.() },
  });
  // One at a time: each answer belongs to the last byte.
  let last: Promise<unknown> = Promise.resolve();
  const measure = async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    answered = resolve;
    const startedAtMs = performance.now();
    socket.write('x');
    await promise;
    return performance.now() - startedAtMs;
  };
  return () => {
    const measured = last.then(measure);
    last = measured;
    return measured;
  };
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  for await (const bytes of stream) return Buffer.from(bytes).toString();
  throw new Error('The process that measures the delay of the machine printed nothing');
}
