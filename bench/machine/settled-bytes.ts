import { residentBytes } from '../connections/server-memory.ts';
import { kernelBytes } from './kernel-memory.ts';

/** A server collects garbage within a few seconds, and returns to the system what it does not need after 2 s more. */
export const SETTLE_SECONDS = 6;
const SAMPLE_MS = 250;

/** Memory while nothing happens. */
export interface SettledBytes {
  /** Of each process the least that was seen, since garbage is not what is measured. */
  readonly processes: readonly number[];
  readonly kernel: number;
}

/** Watches processes for `SETTLE_SECONDS`. Meanwhile nobody may load them. */
export async function settledBytes(pids: readonly number[]): Promise<SettledBytes> {
  let processes = pids.map(residentBytes);
  for (let sample = 0; sample < (SETTLE_SECONDS * 1000) / SAMPLE_MS; sample += 1) {
    await Bun.sleep(SAMPLE_MS);
    processes = pids.map((pid, at) => Math.min(residentBytes(pid), processes[at] ?? 0));
  }
  return { processes, kernel: kernelBytes() };
}
