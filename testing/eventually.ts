import { setTimeout as sleep } from 'node:timers/promises';

/** Longer than anything the server does by itself. */
const WAIT_MAX_MS = 25_000;
/** Between two questions, so that asking takes no processor from the server. */
const PAUSE_MS = 10;

/** Asks until the answer fits, and gives it. For what the server does later without announcing it. */
export async function eventually<T>(
  ask: () => T | Promise<T>,
  fits: (answer: T) => boolean,
): Promise<T> {
  const deadline = performance.now() + WAIT_MAX_MS;
  for (;;) {
    const answer = await ask();
    if (fits(answer)) return answer;
    if (performance.now() > deadline) throw new Error(`Still ${JSON.stringify(answer)}`);
    await sleep(PAUSE_MS);
  }
}
