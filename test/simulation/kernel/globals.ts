import { createRequire } from 'node:module';
import type { Alarm } from './alarm-heap.ts';
import type { Context } from './context.ts';
import type { Kernel } from './kernel.ts';

/** What the wall clocks of a world begin with. */
const WALL_CLOCK_MS = Date.UTC(2027, 0, 15, 8);

const RealDate = Date;
let current: Kernel | undefined;
let isReplaced = false;
let taken = 0;

/** Sets whose time passes. */
export function useKernel(kernel: Kernel): void {
  current = kernel;
}

/** How often random bytes were drawn. */
export function chanceTaken(): number {
  return taken;
}

/** The kernel whose time passes. */
export function kernelInUse(): Kernel {
  if (current === undefined) throw new Error('No world is being played');
  return current;
}

/**
 * Replaces clocks, timers and chance of this process by those of the kernel in use. Called before the server is imported, because its modules
 * keep some of them.
 */
export function replaceGlobals(): void {
  if (isReplaced) return;
  isReplaced = true;
  Object.assign(globalThis, timers, { Date: VirtualDate });
  performance.now = () => kernelInUse().nowMs;
  Math.random = () => kernelInUse().programs.next();
  crypto.getRandomValues = fillWithChance as typeof crypto.getRandomValues;
  crypto.randomUUID = randomUuid;
  Bun.sleep = sleep;
  process.threadCpuUsage = cpuUsage;
  process.cpuUsage = cpuUsage;
  // Modules that import these names take them when they are first loaded.
  const ofPromises = createRequire(import.meta.url)('node:timers/promises');
  ofPromises.setTimeout = sleep;
  ofPromises.setImmediate = sleep.bind(undefined, 0);
}

/** A timer, with the methods that those of the runtime have. */
class Timer implements Disposable {
  private readonly kernel = kernelInUse();
  private readonly context: Context;
  private readonly delayMs: number;
  private readonly isRepeated: boolean;
  private readonly run: () => void;
  private alarm: Alarm | undefined;

  constructor(run: () => void, delayMs: number, isRepeated: boolean) {
    this.run = run;
    this.delayMs = delayMs;
    this.isRepeated = isRepeated;
    this.context = this.kernel.context;
    this.start();
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  refresh(): this {
    this.stop();
    this.start();
    return this;
  }

  stop(): void {
    if (this.alarm !== undefined) this.alarm.isCancelled = true;
  }

  [Symbol.dispose](): void {
    this.stop();
  }

  private start(): void {
    const fire = () => {
      if (this.isRepeated) this.start();
      this.run();
    };
    this.alarm = this.kernel.alarm(this.delayMs, fire, this.context);
  }
}

type Callback = (...values: unknown[]) => void;

/** Delays as the runtime takes them: whole milliseconds, at least one. */
function delayOf(delayMs: unknown): number {
  return Math.max(1, Math.trunc(Number(delayMs ?? 0)) || 1);
}

const clear = (timer: unknown) => {
  if (timer instanceof Timer) timer.stop();
};

const timers = {
  setTimeout: (run: Callback, delayMs?: unknown, ...values: unknown[]) =>
    new Timer(() => run(...values), delayOf(delayMs), false),
  setInterval: (run: Callback, delayMs?: unknown, ...values: unknown[]) =>
    new Timer(() => run(...values), delayOf(delayMs), true),
  setImmediate: (run: Callback, ...values: unknown[]) => new Timer(() => run(...values), 0, false),
  clearTimeout: clear,
  clearInterval: clear,
  clearImmediate: clear,
};

function sleep(delayMs: number | Date): Promise<void> {
  const kernel = kernelInUse();
  const ms = typeof delayMs === 'number' ? delayMs : delayMs.getTime() - VirtualDate.now();
  return new Promise((resolve) => kernel.after(ms, resolve));
}

class VirtualDate extends RealDate {
  constructor(...values: readonly number[]) {
    if (values.length === 0) super(VirtualDate.now());
    else super(...(values as [number]));
  }

  static override now(): number {
    // While modules load, nothing is played.
    if (current === undefined) return WALL_CLOCK_MS;
    return WALL_CLOCK_MS + Math.floor(current.nowMs + current.context.clockAheadMs);
  }
}

function cpuUsage(): NodeJS.CpuUsage {
  const { nowMs, context } = kernelInUse();
  return { user: Math.round(nowMs * 1000 * context.busyShare), system: 0 };
}

function fillWithChance(into: ArrayBufferView): ArrayBufferView {
  taken++;
  const { programs } = kernelInUse();
  const bytes = new Uint8Array(into.buffer, into.byteOffset, into.byteLength);
  for (let place = 0; place < bytes.length; place++) bytes[place] = programs.next() * 256;
  return into;
}

function randomUuid(): ReturnType<typeof crypto.randomUUID> {
  const bytes = fillWithChance(Buffer.alloc(16)) as Buffer;
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  const parts = [8, 12, 16, 20].map((at, place, all) => hex.slice(all[place - 1] ?? 0, at));
  return [...parts, hex.slice(20)].join('-') as ReturnType<typeof crypto.randomUUID>;
}
