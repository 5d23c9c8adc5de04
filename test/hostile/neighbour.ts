import { expect } from 'bun:test';
import type { RawClient } from '../../testing/clients/raw-client.ts';
import { processorMs } from '../../testing/processor-time.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';

/** The pause of an honest client between two pings. Milliseconds. */
const BETWEEN_PINGS_MS = 5;

/** Fewer prove nothing. On a slow machine, the last of them may come after the attack. */
const PINGS_MIN = 5;

/** What the server did between the pings of an honest client and their answers, during an attack. */
export interface Pinged<Result> {
  /** Processor time of the server. Milliseconds. */
  readonly median: number;
  readonly p90: number;
  readonly longest: number;
  /** The result of the attack. */
  readonly result: Result;
}

/** Pings as an honest client during an attack. Fails if a ping is not answered. */
export async function pingDuring<Result>(
  server: Fanfare,
  client: RawClient,
  attack: () => Promise<Result>,
): Promise<Pinged<Result>> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  const running = attack();
  running.then(over, over);
  const took: number[] = [];
  while (!isOver || took.length < PINGS_MIN) {
    const before = processorMs(server);
    await client.ping();
    took.push(processorMs(server) - before);
    await Bun.sleep(BETWEEN_PINGS_MS);
  }
  took.sort((a, b) => a - b);
  const at = (share: number) => took[Math.floor(took.length * share)] ?? 0;
  return { median: at(0.5), p90: at(0.9), longest: took.at(-1) ?? 0, result: await running };
}

/**
 * Expects that the server hardly did anything else before it answered: it mostly takes up to 10 ms, and 30 ms for the
 * slowest tenth. The bounds are far above, for slow processors; an attack that succeeds takes seconds.
 */
export function expectCalm({ median, p90 }: Pinged<unknown>): void {
  expect(median).toBeLessThan(200);
  expect(p90).toBeLessThan(500);
}

/** Runs an attack of `attacks.fixture.ts` in a process of its own, and returns its result. */
export async function attack<Result>(name: string, options: object): Promise<Result> {
  const process_ = Bun.spawn(
    [process.execPath, `${import.meta.dir}/attacks.fixture.ts`, name, JSON.stringify(options)],
    { stdout: 'pipe', stderr: 'inherit' },
  );
  const text = await new Response(process_.stdout).text();
  if ((await process_.exited) !== 0) throw new Error(`The attack ${name} failed: ${text}`);
  return JSON.parse(text);
}
