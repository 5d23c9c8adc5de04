import { setTimeout as sleep } from 'node:timers/promises';

/** Longer than anything the server does by itself. */
const WAIT_MAX_MS = 60_000;

/** The shortest and the longest pause between two questions. */
const PAUSE_MIN_MS = 10;
const PAUSE_MAX_MS = 200;

/** The pause between two questions: 5 % of the wait so far, so that a long wait takes little processor time. */
export function pauseAfter(waitedMs: number): number {
  return Math.min(PAUSE_MAX_MS, Math.max(PAUSE_MIN_MS, waitedMs / 20));
}

/** Repeats a question until its answer fits, and returns that answer. For changes that the server makes later, without an event. */
export async function eventually<T>(
  ask: () => T | Promise<T>,
  fits: (answer: T) => boolean,
): Promise<T> {
  const startedAtMs = performance.now();
  for (;;) {
    const answer = await ask();
    if (fits(answer)) return answer;
    const waitedMs = performance.now() - startedAtMs;
    if (waitedMs > WAIT_MAX_MS) throw new Error(`Still ${JSON.stringify(answer)}`);
    await sleep(pauseAfter(waitedMs));
  }
}
