import { RawHttp } from '../../testing/clients/raw-http.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';
import type { AttackCounts, AttackOptions } from './push-attacker.fixture.ts';

/** What an honest backend has seen. */
export interface Seen {
  /** Milliseconds from a publish to its answer, in order of size. */
  readonly latenciesMs: readonly number[];
  /** Statuses other than 200. */
  readonly failed: readonly number[];
}

/** The share of latencies that is not longer. */
export function quantile({ latenciesMs }: Seen, share: number): number {
  return latenciesMs[Math.min(latenciesMs.length - 1, Math.floor(latenciesMs.length * share))] ?? 0;
}

/** Publishes one after the other, with a pause between two, on a connection that is kept. */
export async function publishFor(
  server: Fanfare,
  instance: { readonly id: string; readonly secretKey: string },
  ms: number,
): Promise<Seen> {
  const latenciesMs: number[] = [];
  const failed: number[] = [];
  await using connection = await RawHttp.open({ port: server.pushPort });
  const endMs = performance.now() + ms;
  while (performance.now() < endMs) {
    const beganMs = performance.now();
    const { status } = await connection.asks({
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
    await Bun.sleep(PAUSE_MS);
  }
  return { latenciesMs: latenciesMs.toSorted((a, b) => a - b), failed };
}

/** An open loop would need many connections; so much is what one backend does without noticing anything. */
const PAUSE_MS = 10;

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
