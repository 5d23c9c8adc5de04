import { RawHttp } from '../../testing/clients/raw-http.ts';
import { machineDelayMs } from '../../testing/machine-delay.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';
import type { AttackCounts, AttackOptions } from './push-attacker.fixture.ts';

/** The answers that an honest backend got. */
export interface Seen {
  /** Milliseconds from a publish to its answer, in order of size. */
  readonly latenciesMs: readonly number[];
  /** How long the machine itself delayed an answer at the same moments, in order of size. Milliseconds. */
  readonly machineMs: readonly number[];
  /** Statuses other than 200. */
  readonly failed: readonly number[];
}

/** The smallest value that at least this share of the values does not exceed. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Publishes one after the other on one connection, with pauses, for at least this time. */
export async function publishFor(
  server: Fanfare,
  instance: { readonly id: string; readonly secretKey: string },
  ms: number,
): Promise<Seen> {
  const latenciesMs: number[] = [];
  const machineMs: number[] = [];
  const failed: number[] = [];
  await using connection = await RawHttp.open({ port: server.pushPort });
  const endMs = performance.now() + ms;
  while (performance.now() < endMs || latenciesMs.length < PUBLISHES_MIN) {
    const beganMs = performance.now();
    const { status } = await connection.request({
      method: 'POST',
      target: `/publish_api/v1/instances/${instance.id}/publishes/interests`,
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${instance.secretKey}`,
      },
      body: JSON.stringify({ interests: ['nobody'], fcm: { notification: { title: 'Hi' } } }),
    });
    latenciesMs.push(performance.now() - beganMs);
    if (status !== 200) failed.push(status);
    machineMs.push(await machineDelayMs());
    await Bun.sleep(PAUSE_MS);
  }
  return {
    latenciesMs: latenciesMs.toSorted((a, b) => a - b),
    machineMs: machineMs.toSorted((a, b) => a - b),
    failed,
  };
}

/** The pause between two publishes. */
const PAUSE_MS = 10;

/** The fewest publishes: a median of fewer says little. */
const PUBLISHES_MIN = 20;

export interface Attack extends AsyncDisposable {
  counts(): AttackCounts;
  /** Settles once it has come so far. */
  until(reached: (counts: AttackCounts) => boolean): Promise<void>;
}

/** Starts an attack, in a process of its own. */
export function attack(server: Fanfare, options: Omit<AttackOptions, 'port'>): Attack {
  const program = `${import.meta.dir}/push-attacker.fixture.ts`;
  const given: AttackOptions = { ...options, port: server.pushPort };
  const child = Bun.spawn([process.execPath, program, JSON.stringify(given)], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  let counts: AttackCounts = { sent: 0, status: {}, closed: 0 };
  let changed = Promise.withResolvers<void>();
  const read = async () => {
    let rest = '';
    for await (const bytes of child.stdout) {
      const lines = (rest + Buffer.from(bytes).toString()).split('\n');
      rest = lines.pop() ?? '';
      const last = lines.at(-1);
      if (last === undefined) continue;
      counts = JSON.parse(last);
      changed.resolve();
      changed = Promise.withResolvers();
    }
  };
  void read();
  return {
    counts: () => counts,
    async until(reached) {
      while (!reached(counts)) await changed.promise;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}
