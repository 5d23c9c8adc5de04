import { readdirSync, readFileSync } from 'node:fs';

/** The kernel counts processor time in these. `sysconf(_SC_CLK_TCK)`, which is 100 wherever Linux runs. */
const TICK_MS = 10;

/** The limit of other processes' usage during a measurement, in cores. */
export const OTHERS_MAX = 0.1;

/** Processor time used while something ran, in cores: 1 is one core all the time. */
export interface CpuUsage {
  readonly server: number;
  /** The same of the server, in seconds. */
  readonly serverSeconds: number;
  /** By everybody but the server, the load generator and this process. */
  readonly others: number;
}

/** What the hypervisor gave to other machines. */
function stolenTicks(): number {
  const line = /^cpu .*$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[0] ?? '';
  return Number(line.split(/\s+/)[8] ?? 0);
}

/** Processor time that each process has used, all its threads together. */
function usedTicks(): ReadonlyMap<number, number> {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return new Map(pids.map((pid) => [pid, usedTicksOf(pid)]));
}

/** Processor time that a process has used since its start, in seconds. Linux only. */
export interface UsedSeconds {
  readonly allThreads: number;
  /** The thread that a process starts with: of Fanfare, the first realtime loop. */
  readonly mainThread: number;
}

/** The usage of one process until now; 0 if it has ended. */
export function usedSecondsOf(pid: number): UsedSeconds {
  const seconds = (place: string) => (usedTicksOf(place) * TICK_MS) / 1000;
  return { allThreads: seconds(`${pid}`), mainThread: seconds(`${pid}/task/${pid}`) };
}

/** The usage of one process, or of one of its threads, by its folder in `/proc`; 0 if it has ended. */
function usedTicksOf(place: number | string): number {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${place}/stat`, 'utf8');
  } catch {
    // It ended after it was listed.
    return 0;
  }
  // The name in brackets may hold anything, so the fields are counted from behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

/**
 * Starts to measure CPU usage. Returns a function that returns the usage since. Linux only. It adds up processes: the
 * kernel's figures for the whole machine include its work for our connections, which would look like that of others.
 */
export function watchCpu(pids: { server: number; load: number }): () => CpuUsage {
  const ours = new Set([pids.server, pids.load, process.pid]);
  const read = () => ({ atMs: performance.now(), used: usedTicks(), stolen: stolenTicks() });
  const before = read();
  return () => {
    const after = read();
    const since = (pid: number) => (after.used.get(pid) ?? 0) - (before.used.get(pid) ?? 0);
    let others = after.stolen - before.stolen;
    for (const pid of after.used.keys()) if (!ours.has(pid)) others += since(pid);
    const perTick = TICK_MS / (after.atMs - before.atMs);
    const used = since(pids.server);
    const serverSeconds = (used * TICK_MS) / 1000;
    return { server: used * perTick, serverSeconds, others: others * perTick };
  };
}
