import { expect, it } from 'bun:test';
import {
  markedPublish,
  newMarker,
  PushRequests,
  requestPush,
} from '../../testing/clients/push-requests.ts';
import { startFanfare } from '../../testing/servers/fanfare.ts';
import { instanceSettings, pushSettings } from '../../testing/servers/push-server.ts';

const HOSTILE = {
  id: 'c0ffee00-0000-4000-8000-000000000001',
  secretKey: 'B'.repeat(64),
} as const;

/** Connections that write as fast as they get answers. */
const WRITERS = 40;

const honest = new PushRequests();
const hostile = new PushRequests(HOSTILE);

const median = (counts: readonly number[]) =>
  counts.toSorted((a, b) => a - b)[counts.length >> 1] ?? Number.NaN;

it('an instance whose devices write thousands of rows at a time does not hold up publishes of another', async () => {
  const { secretKey, id } = HOSTILE;
  const instances = pushSettings(instanceSettings(), {
    ...instanceSettings(),
    id,
    secretKeys: [secretKey],
  });
  await using server = await startFanfare({ config: { push: instances } });
  const publish = async () => {
    const { status } = await requestPush(server, honest.publish(markedPublish(newMarker())));
    expect(status).toBe(200);
  };

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
  while (writes < WRITERS) await publish();
  /** How many writes are answered between each publish and its answer. */
  const earlier: number[] = [];
  while (earlier.length < 9) {
    const before = writes;
    await publish();
    earlier.push(writes - before);
  }
  attacking = false;
  await Promise.all(writers);

  // A turn of the loop starts one write of thousands of rows at most, and a publish waits for the writes of two or three
  // turns. If long bodies cost no more than short ones, it waits until every writer was served, and longer.
  expect(median(earlier)).toBeLessThan(WRITERS / 2);
});
