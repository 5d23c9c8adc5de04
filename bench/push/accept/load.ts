/** The load generator: a process of its own that does one task, and prints the result. */
import { writeFileSync } from 'node:fs';
import type { LoopResult, LoopTime } from '../../load/closed-loop.ts';
import { AcceptLoop } from './accept-loop.ts';
import { type Kind, requestsOf } from './requests.ts';

export interface LoadTask extends LoopTime {
  readonly kind: Kind;
  readonly port: number;
  readonly connections: number;
  /** Where the ids of all answers go, those of the warm-up included. */
  readonly idsFile: string;
}

export interface Run extends LoopResult {
  readonly answers: number;
  /** Ids that came more than once. */
  readonly doubles: number;
}

function perform({ kind, port, connections, idsFile, ...time }: LoadTask): Run {
  const loop = new AcceptLoop(port, connections, requestsOf(kind, port));
  const result = loop.run(time);
  const { ids } = loop;
  writeFileSync(idsFile, ids.join('\n'));
  return { ...result, answers: ids.length, doubles: ids.length - new Set(ids).size };
}

// Its parent is the one who writes it.
const task: LoadTask = JSON.parse(process.argv[2] ?? '');
console.log(JSON.stringify(perform(task)));
