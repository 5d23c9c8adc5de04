import { readFileSync } from 'node:fs';

/** Memory of a process in bytes: when watching began, half-way, at most, and at the end. */
export interface MemoryUse {
  readonly start: number;
  readonly half: number;
  readonly most: number;
  readonly end: number;
}

const LOOK_MS = 100;
const KIBIBYTE = 1024;

function rssOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * KIBIBYTE;
}

/** Starts to watch the memory of a process; the function returned gives what it took. Linux only. */
export function watchMemory(pid: number): () => MemoryUse {
  const looks = [rssOf(pid)];
  const timer = setInterval(() => looks.push(rssOf(pid)), LOOK_MS);
  return () => {
    clearInterval(timer);
    looks.push(rssOf(pid));
    const at = (place: number) => looks[place] ?? 0;
    return {
      start: at(0),
      half: at(looks.length >> 1),
      most: looks.reduce((most, look) => Math.max(most, look)),
      end: at(looks.length - 1),
    };
  };
}
