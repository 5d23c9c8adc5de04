import { readdirSync, readFileSync } from 'node:fs';

/** One thread of a process, as the kernel knows it. */
interface Thread {
  readonly id: number;
  readonly name: string;
}

/** How Bun calls the threads of workers. */
const WORKER = 'Worker';

function threadsOf(pid: number): readonly Thread[] {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).map((id) => ({
    id: Number(id),
    name: readFileSync(`${folder}/${id}/comm`, 'utf8').trim(),
  }));
}

/** Holds the background thread of a server to one core; its other threads stay where they are. Linux only. */
export function moveBackground(pid: number, core: number): void {
  const workers = threadsOf(pid).filter(({ name }) => name === WORKER);
  const [worker] = workers;
  if (worker === undefined || workers.length > 1) {
    throw new Error(`the server has ${workers.length} threads called ${WORKER}, not one`);
  }
  const moved = Bun.spawnSync(['taskset', '-cp', String(core), String(worker.id)]);
  if (!moved.success) throw new Error(`taskset: ${moved.stderr.toString().trim()}`);
}
