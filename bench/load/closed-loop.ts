import type { Spent } from '../beside-floor.ts';
import { watchCpu } from '../machine/cpu-usage.ts';
import { Histogram } from './histogram.ts';
import { KernelSockets } from './kernel-sockets.ts';

/** How long requests in flight at the end may take. */
const LAST_OUT_MS = 5000;

/** The duration of a closed loop, and the server that it measures. */
export interface LoopTime {
  /** Not measured: it warms up the compilers of both sides. */
  readonly warmupSeconds: number;
  readonly seconds: number;
  /** `undefined` if the server is not a process of this benchmark. */
  readonly serverPid?: number | undefined;
}

/** The result of the measured part of a closed loop. */
export interface LoopResult extends Spent {
  /** How many were done in all, the warm-up included. */
  readonly completed: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** A fixed number of things under way: the next begins when one is done. */
export abstract class ClosedLoop {
  protected readonly sockets = new KernelSockets();
  /** Whether another one begins when one is done. */
  protected isOpen = false;
  protected completed = 0;
  protected latency: Histogram | undefined;

  /** How many have begun and are not done. */
  protected abstract readonly underWay: number;

  /** Starts as many as may be in flight. */
  protected abstract fill(): void;

  run({ warmupSeconds, seconds, serverPid }: LoopTime): LoopResult {
    this.isOpen = true;
    this.fill();
    this.pollFor(warmupSeconds * 1000);

    const spent = watchSpent(serverPid);
    const latency = new Histogram();
    this.latency = latency;
    const before = this.completed;
    const tookMs = this.pollFor(seconds * 1000);
    const perSecond = ((this.completed - before) / tookMs) * 1000;
    this.latency = undefined;

    this.isOpen = false;
    this.settle();
    return {
      completed: this.completed,
      perSecond,
      p50Ms: latency.quantileMs(0.5),
      p99Ms: latency.quantileMs(0.99),
      maxMs: latency.maxMs,
      ...spent(),
    };
  }

  /** Continues to read for this time; returns how long it took. */
  private pollFor(ms: number): number {
    const startMs = performance.now();
    for (;;) {
      const leftMs = startMs + ms - performance.now();
      if (leftMs <= 0) return ms - leftMs;
      this.sockets.poll(leftMs);
    }
  }

  /** Continues to read until nothing is in flight. */
  private settle(): void {
    const deadlineMs = performance.now() + LAST_OUT_MS;
    while (this.underWay > 0) {
      if (performance.now() > deadlineMs) throw new Error(`${this.underWay} were not done in time`);
      this.sockets.poll(5);
    }
  }
}

/** Starts to measure CPU usage. Returns a function that returns the usage since. */
function watchSpent(serverPid: number | undefined): () => Spent {
  const startMs = performance.now();
  const before = process.cpuUsage();
  // The parent process belongs to the load; it mostly sleeps.
  const used =
    serverPid === undefined ? undefined : watchCpu({ server: serverPid, load: process.ppid });
  return () => {
    const { user, system } = process.cpuUsage(before);
    const tookUs = (performance.now() - startMs) * 1000;
    return { loadCpu: (user + system) / tookUs, cpu: used?.() };
  };
}
