import { expect } from 'bun:test';
import type { RawClient } from '../../testing/clients/raw-client.ts';
import { sampleMachineDelay } from '../../testing/machine-delay.ts';

/** The pause of an honest client between two pings. Milliseconds. */
const BETWEEN_PINGS_MS = 5;
const QUIET_MS = 300;

/** Fewer prove nothing. On a slow machine, the last of them may come after the attack. */
const PINGS_MIN = 5;

/** The latencies of all pings of a period. Milliseconds. */
export interface Latency {
  readonly pings: number;
  readonly median: number;
  readonly p90: number;
  readonly longest: number;
  /** The longest delay by the machine itself at the same moments. */
  readonly machine: number;
}

/** The latencies of an honest client before and during an attack. */
export interface Comparison<Result> {
  readonly quiet: Latency;
  readonly attacked: Latency;
  readonly result: Result;
}

/** Pings as an honest client, first alone and then during an attack. Fails if a ping is not answered. */
export async function compare<Result>(
  client: RawClient,
  attack: () => Promise<Result>,
): Promise<Comparison<Result>> {
  const quiet = await pingUntil(client, Bun.sleep(QUIET_MS));
  const running = attack();
  const attacked = await pingUntil(client, running);
  return { quiet, attacked, result: await running };
}

/**
 * Expects that an honest client hardly noticed. The bounds leave room for a machine on which tests share two cores
 * with the attacker; an attack that succeeds takes seconds.
 */
export function expectCalm({ quiet, attacked }: Comparison<unknown>): void {
  const { machine } = attacked;
  expect(attacked.median).toBeLessThan(quiet.median + 300 + machine);
  expect(attacked.p90).toBeLessThan(quiet.p90 + 1_500 + machine);
}

async function pingUntil(client: RawClient, end: Promise<unknown>): Promise<Latency> {
  const took: number[] = [];
  const sampled = await sampleMachineDelay();
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  end.then(over, over);
  while (!isOver || took.length < PINGS_MIN) {
    const began = performance.now();
    await client.ping();
    took.push(performance.now() - began);
    await Bun.sleep(BETWEEN_PINGS_MS);
  }
  const machine = await sampled.stop();
  took.sort((a, b) => a - b);
  const at = (share: number) => took[Math.floor(took.length * share)] ?? 0;
  return { pings: took.length, median: at(0.5), p90: at(0.9), longest: took.at(-1) ?? 0, machine };
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
