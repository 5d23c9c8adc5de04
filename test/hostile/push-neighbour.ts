import { RawHttp } from '../../testing/clients/raw-http.ts';
import { processorMs } from '../../testing/processor-time.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';
import type { AttackCounts, AttackOptions } from './push-attacker.fixture.ts';

/** The answers that an honest backend got. */
export interface Seen {
  /** The processor time of the server between a publish and its answer: the median. Milliseconds. */
  readonly median: number;
  /** Statuses other than 200. */
  readonly failed: readonly number[];
}

/** Publishes one after the other on one connection, with pauses. */
export async function publishMany(
  server: Fanfare,
  instance: { readonly id: string; readonly secretKey: string },
): Promise<Seen> {
  const took: number[] = [];
  const failed: number[] = [];
  await using connection = await RawHttp.open({ port: server.pushPort });
  while (took.length < PUBLISHES) {
    const before = processorMs(server);
    const { status } = await connection.request({
      method: 'POST',
      target: `/publish_api/v1/instances/${instance.id}/publishes/interests`,
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${instance.secretKey}`,
      },
      body: JSON.stringify({ interests: ['nobody'], fcm: { notification: { title: 'Hi' } } }),
    });
    took.push(processorMs(server) - before);
    if (status !== 200) failed.push(status);
    await Bun.sleep(PAUSE_MS);
  }
  const median = took.toSorted((a, b) => a - b)[PUBLISHES >> 1] ?? Number.NaN;
  return { median, failed };
}

/** The pause between two publishes. Milliseconds. */
const PAUSE_MS = 10;

/** A median of fewer says little. */
export const PUBLISHES = 15;

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
