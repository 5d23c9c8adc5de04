import { expect, it } from 'bun:test';
import { FakeClock } from '../../../src/channels/hub.fixture.ts';
import { RedisEngine } from '../../../src/engines/redis/engine.ts';
import type { Log } from '../../../src/runtime/ports.ts';
import { FakeLink } from '../../contracts/fake-link.ts';
import { partsOfLoop, silent } from '../../contracts/loop-parts.ts';

/** All nodes of a cluster must have one list of Redis servers, so that the state is never split. */

const open = (servers: readonly FakeLink[], log: Log = silent) => {
  const clock = new FakeClock();
  return RedisEngine.open({
    ...partsOfLoop(clock, []),
    apps: { byId: () => undefined, byKey: () => undefined },
    timers: clock,
    log,
    keyPrefix: 'x:',
    servers,
  });
};

const servers = () =>
  ['a', 'b', 'c'].map((name) => new FakeLink(name)) as [FakeLink, FakeLink, FakeLink];

it('the same list is accepted', async () => {
  const [a, b] = servers();
  await open([a, b]);
  await open([a, b]);
});

it.each([
  ['another order', ([a, b]: FakeLink[]) => [b, a], 0],
  ['a server less', ([a]: FakeLink[]) => [a], 0],
  ['a server more', ([a, b, c]: FakeLink[]) => [a, b, c], 0],
  ['another server', ([a, _, c]: FakeLink[]) => [a, c], 0],
  ['another server in the first place', ([_, b, c]: FakeLink[]) => [c, b], 1],
])('%s is refused, and named', async (_, listOf, index) => {
  const all = servers();
  await open([all[0], all[1]]);
  const list = listOf(all).filter((one) => one !== undefined);
  const error = await open(list).catch((failure) => failure);
  expect(error).toMatchObject({ name: 'ServerUnusable', index });
  expect(error.message).toMatch(/another layout \(version 1, 64 partitions, server \d of 2: a b\)/);
});

it('one server may have another name on each node', async () => {
  const server = new FakeLink('localhost');
  await open([server]);
  await open([Object.assign(server, { name: '10.0.0.1' })]);
});

it('a server that comes back without its data is marked again, and one that others have taken is reported', async () => {
  const [a, b] = servers();
  const errors: string[] = [];
  await open([a, b], { ...silent, error: (text) => errors.push(text) });
  const before = b.layout;
  b.goAway();
  b.layout = null;
  b.comeBack();
  await Promise.resolve();
  expect(String(b.layout)).toBe(String(before));

  b.goAway();
  b.layout = 'version 1, 64 partitions, server 2 of 2: x b';
  b.comeBack();
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  expect(errors).toEqual([expect.stringContaining('another layout')]);
});
