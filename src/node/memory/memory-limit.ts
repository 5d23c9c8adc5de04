import { totalmem } from 'node:os';
import { groupsOf, type ReadFile, readIfThere } from '../control-groups.ts';

/** The memory that this server may use, and who says so. */
export interface MemoryLimit {
  readonly bytes: number;
  readonly from: 'setting' | 'container' | 'machine';
}

/** What the memory depends on. */
export interface MachineMemory {
  readonly totalBytes: number;
  readonly read: ReadFile;
}

const thisMachine: MachineMemory = { totalBytes: totalmem(), read: readIfThere };

/** The files with limits of a control group: of version 2, where the kernel slows down at `high`, and of version 1. */
const LIMIT_FILES = ['memory.max', 'memory.high', 'memory.limit_in_bytes'];

/**
 * Returns the setting if it is not 0. Otherwise the smallest limit of the control groups of this process and of their parents,
 * or the memory of the machine if that is less.
 */
export function memoryLimit(setting: number, machine = thisMachine): MemoryLimit {
  if (setting > 0) return { bytes: setting, from: 'setting' };
  const { totalBytes, read } = machine;
  const limits = groupsOf(read, 'memory').flatMap((group) =>
    LIMIT_FILES.map((file) => limitOf(read(`${group}/${file}`))),
  );
  const bytes = Math.min(...limits);
  return bytes < totalBytes ? { bytes, from: 'container' } : { bytes: totalBytes, from: 'machine' };
}

/** "max" means that there is no limit. Version 1 has a number beyond all memory instead. */
function limitOf(text: string | undefined): number {
  const bytes = Number(text ?? Number.NaN);
  return bytes > 0 ? bytes : Number.POSITIVE_INFINITY;
}
