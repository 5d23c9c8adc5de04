/** The load generator: a process of its own that does one task, and prints what came of it. */
import { writeFileSync } from 'node:fs';
import type { Spent } from '../../beside-floor.ts';
import { type CpuUsage, watchCpu } from '../../machine/cpu-usage.ts';
import { ClosedLoop, type LoopResult } from './closed-loop.ts';
import { type Kind, requestsOf } from './requests.ts';

export interface LoadTask {
  readonly kind: Kind;
  readonly port: number;
  readonly connections: number;
  readonly warmupSeconds: number;
  readonly seconds: number;
  readonly serverPid: number;
  /** Where the ids of all answers go, those of the warm-up included. */
  readonly idsFile: string;
}

export interface Run extends LoopResult, Spent {
  readonly answers: number;
  /** Ids that came more than once. */
  readonly doubles: number;
  readonly cpu: CpuUsage;
}

function perform(task: LoadTask): Run {
  const loop = new ClosedLoop(task.port, task.connections, requestsOf(task.kind, task.port));
  let watch: (() => CpuUsage) | undefined;
  let cpuBefore = process.cpuUsage();
  const result = loop.run(task.warmupSeconds, task.seconds, () => {
    watch = watchCpu({ server: task.serverPid, load: process.ppid });
    cpuBefore = process.cpuUsage();
  });
  const spent = process.cpuUsage(cpuBefore);
  const cpu = watch?.() ?? { server: 0, others: 0 };
  writeFileSync(task.idsFile, loop.ids.join('\n'));
  return {
    ...result,
    answers: loop.ids.length,
    doubles: loop.ids.length - new Set(loop.ids).size,
    cpu,
    loadCpu: (spent.user + spent.system) / (task.seconds * 1e6),
  };
}

// Its parent is the one who writes it.
const task: LoadTask = JSON.parse(process.argv[2] ?? '');
console.log(JSON.stringify(perform(task)));
