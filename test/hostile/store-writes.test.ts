import { expect, it } from 'bun:test';
import {
  markedPublish,
  newMarker,
  PushRequests,
  requestPush,
} from '../../testing/clients/push-requests.ts';
import { sampleMachineDelay } from '../../testing/machine-delay.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { instanceSettings, pushSettings } from '../../testing/servers/push-server.ts';

const HOSTILE = {
  id: 'c0ffee00-0000-4000-8000-000000000001',
  secretKey: 'B'.repeat(64),
} as const;

/** Connections that write as fast as they get answers. */
const WRITERS = 100;

const honest = new PushRequests();
const hostile = new PushRequests(HOSTILE);

/** Publishes one after the other, and returns the latency of each. Fails if one is not accepted. Milliseconds. */
async function publishLatencies(server: Fanfare, count: number): Promise<readonly number[]> {
  const latencies: number[] = [];
  for (let published = 0; published < count; published++) {
    const startedMs = performance.now();
    const { status } = await requestPush(server, honest.publish(markedPublish(newMarker())));
    expect(status).toBe(200);
    latencies.push(performance.now() - startedMs);
  }
  return latencies;
}

const median = (latencies: readonly number[]) =>
  latencies.toSorted((a, b) => a - b)[latencies.length >> 1] ?? Number.NaN;

it('an instance whose devices write thousands of rows at a time does not hold up publishes of another', async () => {
  const { secretKey, id } = HOSTILE;
  const instances = pushSettings(instanceSettings(), {
    ...instanceSettings(),
    id,
    secretKeys: [secretKey],
  });
  await using server = await startFanfare({ config: { push: instances } });
  const quietMs = median(await publishLatencies(server, 20));

  let attacking = true;
  let writes = 0;
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    const { json } = await requestPush(server, hostile.registerFcm(`token:${writer}`));
    for (let round = 0; attacking; round++) {
      const interests = Array.from({ length: 5000 }, (__, n) => `i${writer}-${round}-${n}`);
      const { target, method, headers, body } = hostile.setInterests(String(json['id']), interests);
      const url = `http://127.0.0.1:${server.pushPort}${target}`;
      const answer = await fetch(url, { method, headers: { ...headers }, body: String(body) });
      await answer.arrayBuffer();
      writes += 1;
    }
  });
  while (writes < WRITERS) await publishLatencies(server, 1);
  const machine = await sampleMachineDelay();
  const attackedMs = median(await publishLatencies(server, 20));
  const machineMs = await machine.stop();
  attacking = false;
  await Promise.all(writers);

  // A publish waits for the current commit and for its own, about 50 ms each while the machine runs both sides of the
  // attack. Without fairness it would wait for the changes of all writers, about 2 s.
  expect(attackedMs).toBeLessThan(quietMs * 2 + 1_000 + machineMs);
});
