import { readFileSync } from 'node:fs';

/** The kernel counts processor time in these. `sysconf(_SC_CLK_TCK)`, which is 100 wherever Linux runs. */
const TICK_MS = 10;

/** Processor time used while something ran, in cores: 1 is one core all the time. */
export interface CpuUsage {
  readonly server: number;
  /** By everybody but the server, the load generator and this process. */
  readonly others: number;
}

/** Processor time that was used altogether, with what the hypervisor gave to other machines. */
function usedTicks(): number {
  const line = /^cpu .*$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[0] ?? '';
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return user + nice + system + irq + softirq + steal;
}

/** Processor time that one process has used, all its threads together. */
function usedTicksOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name in brackets may hold anything, so the fields are counted from behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

/** Starts to watch the processors; the function returned says what was used since. Linux only. */
export function watchCpu(pids: { server: number; load: number }): () => CpuUsage {
  const read = () => {
    const server = usedTicksOf(pids.server);
    const ours = server + usedTicksOf(pids.load) + usedTicksOf(process.pid);
    return { atMs: performance.now(), server, others: usedTicks() - ours };
  };
  const before = read();
  return () => {
    const after = read();
    const perTick = TICK_MS / (after.atMs - before.atMs);
    return {
      server: (after.server - before.server) * perTick,
      others: Math.max(0, (after.others - before.others) * perTick),
    };
  };
}
